// A linear layer with bias: y[M,N] = x[M,K] * W[N,K]^T + bias, tuned once and run.
#include <gemwright/gemwright.hpp>

#include <cstdio>
#include <vector>

int main() {
  const int m = 4;
  const int n = 96;
  const int k = 64;
  const std::vector<float> x(m * k, 0.5F);
  const std::vector<float> weight(n * k, 2.0F);
  const std::vector<float> bias(n, 1.0F);
  std::vector<float> y(m * n);

  gemwright::Problem problem = gemwright::Problem::linear(m, n, k, gemwright::DataType::f32);
  problem.bias = gemwright::Bias::per_column;
  const gemwright::Planner planner(gemwright::Device::cpu());
  const gemwright::Plan plan = planner.plan(problem, {.time_limit_s = 10});
  plan.run({.a = x.data(), .b = weight.data(), .d = y.data(), .bias = bias.data()});

  std::printf("%s: y[0] = %g\n", plan.kernel().c_str(), static_cast<double>(y[0]));
  return y[0] == 65.0F && y.back() == 65.0F ? 0 : 1;
}
