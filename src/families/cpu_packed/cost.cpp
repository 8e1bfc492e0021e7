#include "families/cpu_packed/cost.hpp"

#include "families/cpu_packed/geometry.hpp"
#include "model/cpu_cost.hpp"
#include "model/cpu_rates.hpp"

namespace gemwright::cpu_packed {
namespace {

// Instructions that widen a vector of B, for every k.
double widening(Loader loader) {
  switch (loader) {
    case Loader::bf16_pairs:
      return 1;  // a shift and a mask serve two
    case Loader::bf16_rows:
    case Loader::f16_rows:
    case Loader::f16_pairs:
      return 2;
    default:
      return 0;
  }
}

double multiply_rate(const CpuProfile& cpu, const Setup& setup, Loader loader) {
  // Half of what the tiles' 1024 multiply-adds a cycle are to the two vector units' 32.
  if (setup.isa == Isa::amx_bf16) return model::amx_flops(cpu);
  if (loader == Loader::bf16_dot) return cpu.bf16_flops;
  // The profile's rate is that of the widest vectors.
  if (setup.isa == Isa::scalar && cpu.features.avx2_fma) return cpu.f32_flops / 16;
  return setup.isa == Isa::avx2 && cpu.features.avx512 ? cpu.f32_flops / 2 : cpu.f32_flops;
}

int lanes_of(Isa isa) {
  if (isa == Isa::scalar) return 1;
  return isa == Isa::avx2 ? 8 : 16;
}

void describe(model::CpuWork& work, const Problem& p, const CpuProfile& cpu, const Setup& setup,
              Loader loader, const Geometry& g) {
  work.m = p.m;
  work.n = p.n;
  work.k = p.k;
  work.batch = p.batch;
  work.bytes_a = size_bytes(p.a.type);
  work.bytes_b = size_bytes(p.b.type);
  work.bytes_d = size_bytes(p.d.type) + (p.c ? size_bytes(p.c->type) : 0);
  work.threads = setup.threads;
  work.split = setup.split_k;
  work.cells_m = g.cells_m;
  work.cells_n = g.cells_n;
  work.flops_per_s = multiply_rate(cpu, setup, loader);
  work.widening = widening(loader);
}

}  // namespace

Estimate cost(const Problem& problem, const CpuProfile& cpu, const Setup& setup) {
  const Loader loader = *loader_of(setup.isa, setup.path, problem);
  const Geometry g(setup, loader, problem);
  if (setup.path == Path::dot) {
    model::StreamingWork work;
    describe(work, problem, cpu, setup, loader, g);
    work.rows = setup.rows;
    work.columns = kernels(setup.isa)->dot_columns[static_cast<std::size_t>(loader)][setup.rows];
    work.packed_a = g.a_element;
    work.lanes = lanes_of(setup.isa) * (loader == Loader::bf16_dot ? 2 : 1);
    return model::cpu_streaming_cost(cpu, work);
  }
  model::BlockedWork work;
  describe(work, problem, cpu, setup, loader, g);
  work.rows = setup.rows;
  work.columns = std::int64_t{setup.panels} * kPanel;
  work.rows_block = g.rows_block;
  work.columns_block = g.panels_block * kPanel;
  work.depth_block = g.depth_block;
  work.packed_a = g.a_element;
  work.pack_b = setup.path == Path::pack;
  work.packed_b = loader == Loader::bf16_dot || !work.pack_b ? work.bytes_b : 4;
  work.transpose_b = work.pack_b && problem.b.row_stride == 1;
  work.rows_of_b = setup.path == Path::direct && !problem.b.packed;
  return model::cpu_blocked_cost(cpu, work);
}

}  // namespace gemwright::cpu_packed
