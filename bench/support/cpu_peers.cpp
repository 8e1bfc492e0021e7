#include "support/cpu_peers.hpp"

#include <dlfcn.h>

#ifdef GEMWRIGHT_ONEDNN
#include <oneapi/dnnl/dnnl.hpp>
#endif

namespace gemwright::bench {

#ifdef GEMWRIGHT_ONEDNN
namespace {

using Memory = dnnl::memory;

// The OpenMP team of oneDNN, of the library that it has loaded.
void set_openmp_threads(int threads) {
  using Set = void (*)(int);
  static const auto set = reinterpret_cast<Set>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  if (set != nullptr) set(threads);
}

Memory::data_type type_of(DataType type) {
  if (type == DataType::bf16) return Memory::data_type::bf16;
  return type == DataType::f16 ? Memory::data_type::f16 : Memory::data_type::f32;
}

#if DNNL_VERSION_MAJOR >= 3
dnnl::matmul::primitive_desc describe(const dnnl::engine& engine, const Memory::desc& a,
                                      const Memory::desc& b, const Memory::desc& d,
                                      dnnl::matmul* /*unused*/) {
  return {engine, a, b, d};
}
dnnl::inner_product_forward::primitive_desc describe(const dnnl::engine& engine,
                                                     const Memory::desc& a, const Memory::desc& b,
                                                     const Memory::desc& d,
                                                     dnnl::inner_product_forward* /*unused*/) {
  return {engine, dnnl::prop_kind::forward_inference, a, b, d};
}
#else
dnnl::matmul::primitive_desc describe(const dnnl::engine& engine, const Memory::desc& a,
                                      const Memory::desc& b, const Memory::desc& d,
                                      dnnl::matmul* /*unused*/) {
  return {dnnl::matmul::desc(a, b, d), engine};
}
dnnl::inner_product_forward::primitive_desc describe(const dnnl::engine& engine,
                                                     const Memory::desc& a, const Memory::desc& b,
                                                     const Memory::desc& d,
                                                     dnnl::inner_product_forward* /*unused*/) {
  return {{dnnl::prop_kind::forward_inference, a, b, d}, engine};
}
#endif

template <typename Primitive>
void add(std::vector<Runner>& runners, const char* name, const Problem& p, const Operands& x,
         int threads, const Memory::desc& any) {
  static const auto* engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  set_openmp_threads(threads);
  const Memory::desc a({p.m, p.k}, type_of(p.a.type), Memory::format_tag::ab);
  const Memory::desc d({p.m, p.n}, type_of(p.d.type), Memory::format_tag::ab);
  try {
    const auto description = describe(*engine, a, any, d, static_cast<Primitive*>(nullptr));
    const Memory::desc weights = description.weights_desc();
    const Memory source(a, *engine, const_cast<void*>(x.a));
    const Memory target(d, *engine, x.d);
    runners.push_back(
        {"onednn_any", name, weights.get_size(),
         [=, primitive = Primitive(description), stream = dnnl::stream(*engine),
          b = Memory(weights, *engine, nullptr)](const void* data) mutable {
           set_openmp_threads(threads);
           b.set_data_handle(const_cast<void*>(data));
           primitive.execute(
               stream, {{DNNL_ARG_SRC, source}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, target}});
           stream.wait();
         }});
  } catch (const dnnl::error&) {
    // It has none for the type on this CPU.
  }
}

}  // namespace

std::vector<Runner> onednn_any(const Problem& p, const Operands& x, int threads) {
  std::vector<Runner> runners;
  const auto type = type_of(p.b.type);
  add<dnnl::matmul>(runners, "onednn_any_matmul", p, x, threads,
                    {{p.k, p.n}, type, Memory::format_tag::any});
  add<dnnl::inner_product_forward>(runners, "onednn_any_linear", p, x, threads,
                                   {{p.n, p.k}, type, Memory::format_tag::any});
  return runners;
}

#else

std::vector<Runner> onednn_any(const Problem&, const Operands&, int) {
  return {};
}

#endif

std::vector<Runner> openblas(const Problem& p, const Operands& x, int threads) {
  using Gemm =
      void (*)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
               const float* a, int lda, const float* b, int ldb, float beta, float* c, int ldc);
  using SetThreads = void (*)(int);
  constexpr int kRowMajor = 101;
  constexpr int kPlain = 111;
  constexpr int kTransposed = 112;
  if (p.a.type != DataType::f32 || p.b.type != DataType::f32 || p.d.type != DataType::f32)
    return {};
  static void* const library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {};
  const auto gemm = reinterpret_cast<Gemm>(dlsym(library, "cblas_sgemm"));
  const auto set = reinterpret_cast<SetThreads>(dlsym(library, "openblas_set_num_threads"));
  if (gemm == nullptr || set == nullptr) return {};
  const auto m = static_cast<int>(p.m);
  const auto n = static_cast<int>(p.n);
  const auto k = static_cast<int>(p.k);
  return {{"openblas", "cblas_sgemm", static_cast<std::size_t>(p.n * p.k) * sizeof(float),
           [=](const void* weights) {
             set(threads);
             gemm(kRowMajor, kPlain, kTransposed, m, n, k, 1.0F, static_cast<const float*>(x.a), k,
                  static_cast<const float*>(weights), k, 0.0F, static_cast<float*>(x.d), n);
           }}};
}

}  // namespace gemwright::bench
