#include "families/cuda_common/gemm_params.hpp"

namespace gemwright {

using gemwright_device::GemmParams;
using gemwright_device::kCounterBytes;

GemmParams gemm_params(const Problem& p, const Operands& operands, void* workspace) {
  GemmParams q{};
  q.a = operands.a;
  q.b = operands.b;
  q.c = operands.c;
  q.d = operands.d;
  q.bias = operands.bias;
  q.counters = static_cast<unsigned*>(workspace);
  q.workspace = static_cast<char*>(workspace) + (workspace != nullptr ? kCounterBytes : 0);
  q.a_row = p.a.row_stride, q.a_col = p.a.col_stride, q.a_batch = p.a.batch_stride;
  q.b_row = p.b.row_stride, q.b_col = p.b.col_stride, q.b_batch = p.b.batch_stride;
  q.d_row = p.d.row_stride, q.d_col = p.d.col_stride, q.d_batch = p.d.batch_stride;
  if (p.c) q.c_row = p.c->row_stride, q.c_col = p.c->col_stride, q.c_batch = p.c->batch_stride;
  q.m = static_cast<int>(p.m);
  q.n = static_cast<int>(p.n);
  q.k = static_cast<int>(p.k);
  q.batch = static_cast<int>(p.batch);
  q.alpha = p.alpha;
  q.beta = p.beta;
  return q;
}

}  // namespace gemwright
