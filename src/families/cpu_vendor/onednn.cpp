#include "families/cpu_vendor/onednn.hpp"

#include <gemwright/errors.hpp>

#include <array>
#include <atomic>
#include <cstring>
#include <string_view>

#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.hpp>

namespace gemwright::onednn {
namespace {

using Memory = dnnl::memory;

// Made once and never destroyed: kernels may outlive every other static object.
const dnnl::engine& engine() {
  static const auto* made = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *made;
}

// oneDNN runs on the OpenMP team of the calling thread. Its size is set for the length of a scope
// and then put back: the setting belongs to the caller. The functions are those of the OpenMP
// library that oneDNN itself has loaded, whichever it is.
class Team {
 public:
  explicit Team(int threads) : before_(get() == nullptr ? 0 : get()()) { set(threads); }
  ~Team() { set(before_); }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

 private:
  using Get = int (*)();
  using Set = void (*)(int);

  static Get get() {
    static const auto function = reinterpret_cast<Get>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
    return function;
  }
  static void set(int threads) {
    static const auto function = reinterpret_cast<Set>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
    if (function != nullptr && threads > 0) function(threads);
  }

  int before_;
};

Memory::data_type type_of(DataType type) {
  switch (type) {
    case DataType::f16:
      return Memory::data_type::f16;
    case DataType::bf16:
      return Memory::data_type::bf16;
    default:
      return Memory::data_type::f32;
  }
}

// Rows and columns of an operand; batched when the problem is. A batch stride of 0 is oneDNN's
// broadcast: a dimension of 1.
Memory::desc describe(const Operand& operand, std::int64_t rows, std::int64_t cols,
                      std::int64_t batch) {
  if (batch == 1) {
    return {{rows, cols}, type_of(operand.type), {operand.row_stride, operand.col_stride}};
  }
  const bool broadcast = operand.batch_stride == 0;
  const std::int64_t step = broadcast ? rows * operand.row_stride : operand.batch_stride;
  return {{broadcast ? 1 : batch, rows, cols},
          type_of(operand.type),
          {step, operand.row_stride, operand.col_stride}};
}

bool bias_is_native(const Problem& p) {
  return p.bias == Bias::per_column && p.alpha == 1.0F;
}

Memory::desc describe_bias(const Problem& p, Primitive primitive) {
  const auto type = type_of(p.bias_type);
  if (!bias_is_native(p)) return {};
  if (primitive == Primitive::inner_product) return {{p.n}, type, Memory::dims{1}};
  if (p.batch == 1) return {{1, p.n}, type, Memory::dims{p.n, 1}};
  return {{1, 1, p.n}, type, Memory::dims{p.n, p.n, 1}};
}

void append_scale(dnnl::post_ops& chain, float alpha) {
#if DNNL_VERSION_MAJOR >= 3
  chain.append_eltwise(dnnl::algorithm::eltwise_linear, alpha, 0.0F);
#else
  chain.append_eltwise(1.0F, dnnl::algorithm::eltwise_linear, alpha, 0.0F);
#endif
}

// alpha, then C (which is in D's memory by then), then a bias that alpha must not touch.
dnnl::post_ops epilogue(const Problem& p) {
  dnnl::post_ops chain;
  if (p.alpha != 1.0F) append_scale(chain, p.alpha);
  if (p.c) chain.append_sum(p.beta);
  if (p.bias != Bias::none && !bias_is_native(p)) {
    const Memory::dims dims = p.batch == 1 ? Memory::dims{1, p.n} : Memory::dims{1, 1, p.n};
    const Memory::dims strides = p.batch == 1 ? Memory::dims{p.n, 1} : Memory::dims{p.n, p.n, 1};
    chain.append_binary(dnnl::algorithm::binary_add,
                        Memory::desc(dims, type_of(p.bias_type), strides));
  }
  return chain;
}

dnnl::primitive_attr attributes(const Problem& p) {
  dnnl::primitive_attr attr;
  // The scratch is the caller's: with the library's own, no two threads could run one primitive.
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attr.set_post_ops(epilogue(p));
  return attr;
}

using Matmul = dnnl::matmul::primitive_desc;
using InnerProduct = dnnl::inner_product_forward::primitive_desc;

#if DNNL_VERSION_MAJOR >= 3

Matmul make_matmul(const Memory::desc& a, const Memory::desc& b, const Memory::desc& bias,
                   const Memory::desc& d, const dnnl::primitive_attr& attr) {
  return bias.get_size() == 0 ? Matmul(engine(), a, b, d, attr)
                              : Matmul(engine(), a, b, bias, d, attr);
}

InnerProduct make_inner_product(const Memory::desc& a, const Memory::desc& b,
                                const Memory::desc& bias, const Memory::desc& d,
                                const dnnl::primitive_attr& attr) {
  constexpr auto kInference = dnnl::prop_kind::forward_inference;
  return bias.get_size() == 0 ? InnerProduct(engine(), kInference, a, b, d, attr)
                              : InnerProduct(engine(), kInference, a, b, bias, d, attr);
}

#else

Matmul make_matmul(const Memory::desc& a, const Memory::desc& b, const Memory::desc& bias,
                   const Memory::desc& d, const dnnl::primitive_attr& attr) {
  const auto desc =
      bias.get_size() == 0 ? dnnl::matmul::desc(a, b, d) : dnnl::matmul::desc(a, b, bias, d);
  return {desc, attr, engine()};
}

InnerProduct make_inner_product(const Memory::desc& a, const Memory::desc& b,
                                const Memory::desc& bias, const Memory::desc& d,
                                const dnnl::primitive_attr& attr) {
  using Desc = dnnl::inner_product_forward::desc;
  constexpr auto kInference = dnnl::prop_kind::forward_inference;
  const auto desc =
      bias.get_size() == 0 ? Desc(kInference, a, b, d) : Desc(kInference, a, b, bias, d);
  return {desc, attr, engine()};
}

#endif

bool is_reference(std::string_view implementation) {
  return implementation.starts_with("ref");
}

bool has_kernel(DataType type) {
  const Memory::desc matrix({64, 64}, type_of(type), Memory::dims{64, 1});
  try {
    return !is_reference(make_matmul(matrix, matrix, {}, matrix, {}).impl_info_str());
  } catch (const dnnl::error&) {
    return false;
  }
}

struct Descriptions {
  Memory::desc a, b, bias, d;
};

Descriptions describe_matmul(const Problem& p) {
  return {describe(p.a, p.m, p.k, p.batch), describe(p.b, p.k, p.n, p.batch),
          describe_bias(p, Primitive::matmul), describe(p.d, p.m, p.n, p.batch)};
}

Descriptions describe_inner_product(const Problem& p) {
  const Operand weight{.type = p.b.type,
                       .row_stride = p.b.col_stride,
                       .col_stride = p.b.row_stride,
                       .batch_stride = 0};
  return {describe(p.a, p.m, p.k, 1), describe(weight, p.n, p.k, 1),
          describe_bias(p, Primitive::inner_product), describe(p.d, p.m, p.n, 1)};
}

Matmul make_matmul(const Descriptions& x, const Problem& p) {
  return make_matmul(x.a, x.b, x.bias, x.d, attributes(p));
}

InnerProduct make_inner_product(const Descriptions& x, const Problem& p) {
  return make_inner_product(x.a, x.b, x.bias, x.d, attributes(p));
}

// Copies C into D's memory, where the sum of the epilogue expects it; rows are contiguous.
void copy_c(const Problem& p, const void* c, void* d) {
  const auto size = static_cast<std::int64_t>(size_bytes(p.d.type));
  for (std::int64_t batch = 0; batch < p.batch; ++batch) {
    for (std::int64_t row = 0; row < p.m; ++row) {
      const std::int64_t from = batch * p.c->batch_stride + row * p.c->row_stride;
      const std::int64_t to = batch * p.d.batch_stride + row * p.d.row_stride;
      std::memcpy(static_cast<std::byte*>(d) + to * size,
                  static_cast<const std::byte*>(c) + from * size,
                  static_cast<std::size_t>(p.n * size));
    }
  }
}

}  // namespace

class Gemm::Impl {
 public:
  Impl(const Problem& problem, Primitive primitive, int threads)
      : problem_(problem), threads_(threads) {
    const Team team(threads);
    if (primitive == Primitive::matmul) {
      x_ = describe_matmul(problem);
      take(make_matmul(x_, problem));
    } else {
      x_ = describe_inner_product(problem);
      take(make_inner_product(x_, problem));
    }
    for (Context& context : contexts_) fill(context);
  }

  std::size_t scratch_bytes() const { return scratch_.get_size(); }

  void run(const Operands& operands, void* scratch) const {
    const Team team(threads_);
    if (problem_.c && operands.c != operands.d) copy_c(problem_, operands.c, operands.d);
    for (Context& context : contexts_) {
      if (context.busy.test_and_set(std::memory_order_acquire)) continue;
      execute(context, operands, scratch);
      context.busy.clear(std::memory_order_release);
      return;
    }
    // More threads at once than there are contexts: one is made for this run.
    Context context;
    fill(context);
    execute(context, operands, scratch);
  }

 private:
  // Memory objects hold the pointers of one run, so that runs at the same time need one set each.
  struct Context {
    std::atomic_flag busy;
    dnnl::stream stream;
    Memory a, b, d, bias, scratch;
    std::array<dnnl_exec_arg_t, 5> arguments{};
  };
  static constexpr int kContexts = 8;

  template <typename Descriptor>
  void take(const Descriptor& descriptor) {
    if (is_reference(descriptor.impl_info_str())) {
      throw Error("oneDNN has only its reference implementation for " + key(problem_));
    }
    scratch_ = descriptor.scratchpad_desc();
    primitive_ = dnnl::primitive(descriptor.get());
  }

  void fill(Context& context) const {
    context.stream = dnnl::stream(engine());
    context.a = Memory(x_.a, engine(), nullptr);
    context.b = Memory(x_.b, engine(), nullptr);
    context.d = Memory(x_.d, engine(), nullptr);
    context.scratch = Memory(scratch_, engine(), nullptr);
    context.arguments = {{{DNNL_ARG_SRC, context.a.get()},
                          {DNNL_ARG_WEIGHTS, context.b.get()},
                          {DNNL_ARG_DST, context.d.get()},
                          {DNNL_ARG_SCRATCHPAD, context.scratch.get()},
                          {}}};
    if (problem_.bias == Bias::none) return;
    const bool native = bias_is_native(problem_);
    const int before = static_cast<int>(problem_.alpha != 1.0F) + (problem_.c ? 1 : 0);
    const auto chain = epilogue(problem_);
    Memory::desc bias = x_.bias;
    dnnl::algorithm algorithm{};
    if (!native) chain.get_params_binary(before, algorithm, bias);
    context.bias = Memory(bias, engine(), nullptr);
    context.arguments[4] = {
        native ? DNNL_ARG_BIAS : DNNL_ARG_ATTR_MULTIPLE_POST_OP(before) | DNNL_ARG_SRC_1,
        context.bias.get()};
  }

  void execute(Context& context, const Operands& operands, void* scratch) const {
    context.a.set_data_handle(const_cast<void*>(operands.a));
    context.b.set_data_handle(const_cast<void*>(operands.b));
    context.d.set_data_handle(operands.d);
    context.scratch.set_data_handle(scratch);
    const bool biased = problem_.bias != Bias::none;
    if (biased) context.bias.set_data_handle(const_cast<void*>(operands.bias));
    // The C interface takes an array, where that of C++ builds a map for every call.
    const auto status = dnnl_primitive_execute(primitive_.get(), context.stream.get(),
                                               biased ? 5 : 4, context.arguments.data());
    if (status != dnnl_success) throw DeviceError("oneDNN failed to run a matrix product");
  }

  Problem problem_;
  int threads_;
  Descriptions x_;
  Memory::desc scratch_;
  dnnl::primitive primitive_;
  mutable std::array<Context, kContexts> contexts_;
};

std::string version() {
  const dnnl_version_t* v = dnnl_version();
  return std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
}

bool multiplies(DataType type) {
  static const std::array<bool, 3> answers = {has_kernel(DataType::f32), has_kernel(DataType::f16),
                                              has_kernel(DataType::bf16)};
  return answers[static_cast<std::size_t>(type)];
}

std::string refusal(const Problem& problem, Primitive primitive) {
  try {
    const std::string implementation =
        primitive == Primitive::matmul
            ? make_matmul(describe_matmul(problem), problem).impl_info_str()
            : make_inner_product(describe_inner_product(problem), problem).impl_info_str();
    return is_reference(implementation) ? "oneDNN has only its reference loop for it" : "";
  } catch (const dnnl::error& error) {
    return std::string("oneDNN does not take it: ") + error.what();
  }
}

Gemm::Gemm(const Problem& problem, Primitive primitive, int threads) {
  try {
    impl_ = std::make_unique<Impl>(problem, primitive, threads);
  } catch (const dnnl::error& error) {
    throw Error(std::string("oneDNN does not take this problem: ") + error.what());
  }
}

Gemm::~Gemm() = default;

std::size_t Gemm::scratch_bytes() const {
  return impl_->scratch_bytes();
}

void Gemm::run(const Operands& operands, void* scratch) const {
  impl_->run(operands, scratch);
}

}  // namespace gemwright::onednn
