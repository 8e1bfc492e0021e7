#include "support/gemm_case.hpp"

#include "formats/row_decoder.hpp"
#include "numeric/activations.hpp"
#include "numeric/convert.hpp"
#include "problem/extent.hpp"
#include "tune/low_bit.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

namespace gemwright::test {
namespace {

constexpr std::size_t kGuard = 4096;
constexpr std::byte kPoison{0xFF};

std::int64_t offset_of(const Operand& operand, std::int64_t batch, std::int64_t row,
                       std::int64_t col) {
  return batch * operand.batch_stride + row * operand.row_stride + col * operand.col_stride;
}

class HostMemory final : public Memory {
 public:
  void* allocate(std::size_t bytes) override {
    // A page's alignment, so that a Fixture decides how a pointer is aligned.
    const std::size_t rounded = (bytes + kGuard - 1) / kGuard * kGuard;
    blocks_.emplace_back(std::aligned_alloc(kGuard, rounded), &std::free);
    return blocks_.back().get();
  }
  void upload(void* to, const void* from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
  }
  void download(void* to, const void* from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
  }

 private:
  std::vector<std::unique_ptr<void, void (*)(void*)>> blocks_;
};

// Bits of the significand, the hidden one included.
int precision(DataType type) {
  switch (type) {
    case DataType::f32:
      return 24;
    case DataType::f16:
      return 11;
    case DataType::bf16:
      return 8;
  }
  return 0;
}

bool same(double x, double y) {
  return (std::isnan(x) && std::isnan(y)) || x == y;
}

}  // namespace

std::unique_ptr<Memory> host_memory() {
  return std::make_unique<HostMemory>();
}

double Fixture::value() {
  if (case_.fill == Fill::integers || case_.fill == Fill::one_hot) {
    return static_cast<double>(std::uniform_int_distribution<int>(-2, 2)(random_));
  }
  const double normal = std::normal_distribution<double>()(random_);
  if (case_.fill == Fill::normal) return normal;
  switch (std::uniform_int_distribution<int>(0, 199)(random_)) {
    case 0:
      return std::numeric_limits<double>::quiet_NaN();
    case 1:
      return std::numeric_limits<double>::infinity();
    case 2:
      return -std::numeric_limits<double>::infinity();
    default:
      return normal;
  }
}

bool Fixture::exact() const {
  return !case_.values && !case_.problem.weight &&
         (case_.fill == Fill::integers || case_.fill == Fill::one_hot);
}

void Fixture::fill(char name, Buffer& buffer, const Operand& operand, std::int64_t rows,
                   std::int64_t cols, std::int64_t batch) {
  void* base = buffer.host.data() + buffer.offset;
  const bool one_hot = case_.fill == Fill::one_hot && name == 'a';
  for (std::int64_t e = 0; e < batch; ++e) {
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto hot = std::uniform_int_distribution<std::int64_t>(0, cols - 1)(random_);
      for (std::int64_t col = 0; col < cols; ++col) {
        const std::int64_t at = offset_of(operand, e, row, col);
        const double x = case_.values ? case_.values(name, at)
                         : one_hot    ? (col == hot ? 1.0 : 0.0)
                                      : value();
        numeric::store(operand.type, base, at, x);
      }
    }
  }
}

Fixture::Buffer Fixture::make(char name, const Operand& operand, std::int64_t rows,
                              std::int64_t cols, std::int64_t batch) {
  Buffer buffer;
  const std::int64_t span = span_elements(operand, rows, cols, batch);
  const auto size = static_cast<std::size_t>(size_bytes(operand.type));
  // One promised alignment past an aligned guard: as misaligned as the problem allows.
  buffer.offset = kGuard + static_cast<std::size_t>(operand.alignment);
  buffer.host.assign(buffer.offset + static_cast<std::size_t>(span) * size + kGuard, kPoison);
  if (name != 'd' && span > 0) fill(name, buffer, operand, rows, cols, batch);
  buffer.device = memory_.allocate(buffer.host.size());
  memory_.upload(buffer.device, buffer.host.data(), buffer.host.size());
  return buffer;
}

Fixture::Fixture(const Case& description, Memory& memory, std::uint32_t seed)
    : case_(description), memory_(memory), random_(seed) {
  const Problem& p = case_.problem;
  Operand plain_b = p.b;
  if (p.b.packed) {
    plain_b = {.type = p.b.type, .row_stride = p.n, .col_stride = 1};
  }
  a_ = make('a', p.a, p.m, p.k, p.batch);
  if (!p.weight) b_ = make('b', plain_b, p.k, p.n, p.batch);
  if (p.c) c_ = make('c', *p.c, p.m, p.n, p.batch);
  d_ = make('d', p.d, p.m, p.n, p.batch);
  const std::int64_t bias_size = p.bias == Bias::per_row ? p.m : p.n;
  if (p.bias != Bias::none) {
    const Operand vector{
        .type = p.bias_type, .row_stride = bias_size, .alignment = size_bytes(p.bias_type)};
    bias_ = make('v', vector, 1, bias_size, 1);
  }
  if (case_.c_is_d) std::swap(d_, c_);

  const auto at = [](Buffer& buffer, bool on_device) -> std::byte* {
    if (buffer.device == nullptr) return nullptr;
    auto* base = on_device ? static_cast<std::byte*>(buffer.device) : buffer.host.data();
    return base + buffer.offset;
  };
  host_ = {at(a_, false), at(b_, false), at(case_.c_is_d ? d_ : c_, false), at(d_, false),
           at(bias_, false)};
  device_ = {at(a_, true), at(b_, true), at(case_.c_is_d ? d_ : c_, true), at(d_, true),
             at(bias_, true)};
  if (p.weight) make_low_bit_b();
  if (p.activations != Activations::as_given) round_a();
  plan_output();
  if (p.b.packed && !p.weight) pack_b();
}

void Fixture::make_low_bit_b() {
  const Problem& p = case_.problem;
  const CodedWeight weight = case_.weight ? *case_.weight : tune::test_weight(p);
  weight_.resize(static_cast<std::size_t>(p.n * p.k));
  const formats::RowDecoder decoder(weight, p.b.type);
  for (std::int64_t row = 0; row < p.n; ++row) decoder.decode(row, weight_.data() + row * p.k);
  const std::size_t bytes = packed_weights_bytes(p);
  auto scratch = host_memory();
  void* packed = scratch->allocate(bytes);
  pack_weights(weight, packed);
  void* on_device = memory_.allocate(bytes);
  memory_.upload(on_device, packed, bytes);
  device_.b = on_device;
}

void Fixture::round_a() {
  const Problem& p = case_.problem;
  for (std::int64_t row = 0; row < p.batch * p.m; ++row) {
    std::vector<float> codes;
    for (std::int64_t k = 0; k < p.k; ++k) {
      codes.push_back(static_cast<float>(given_a(row / p.m, row % p.m, k)));
    }
    const double scale = numeric::round_activations(p.activations, codes);
    for (const float code : codes) rounded_a_.push_back(scale * static_cast<double>(code));
  }
}

double Fixture::given_a(std::int64_t batch, std::int64_t row, std::int64_t k) const {
  const Operand& a = case_.problem.a;
  return numeric::load(a.type, host_.a, offset_of(a, batch, row, k));
}

double Fixture::a_value(std::int64_t batch, std::int64_t row, std::int64_t k) const {
  const Problem& p = case_.problem;
  if (rounded_a_.empty()) return given_a(batch, row, k);
  return rounded_a_[static_cast<std::size_t>((batch * p.m + row) * p.k + k)];
}

double Fixture::b_value(std::int64_t batch, std::int64_t k, std::int64_t col) const {
  const Problem& p = case_.problem;
  if (p.weight) return weight_[static_cast<std::size_t>(col * p.k + k)];
  Operand b = p.b;
  if (b.packed) b = {.type = b.type, .row_stride = p.n, .col_stride = 1};
  return numeric::load(b.type, host_.b, offset_of(b, batch, k, col));
}

void Fixture::pack_b() {
  Problem plain = case_.problem;
  plain.b = {.type = plain.b.type, .row_stride = plain.n, .col_stride = 1};
  const std::size_t bytes = packed_weights_bytes(plain);
  auto scratch = host_memory();
  void* packed = scratch->allocate(bytes);
  pack_weights(plain, host_.b, packed);
  void* on_device = memory_.allocate(bytes);
  memory_.upload(on_device, packed, bytes);
  device_.b = on_device;
}

// The reference, element by element, with the bound that any order of fp32 sums keeps.
void Fixture::plan_output() {
  const Problem& p = case_.problem;
  expected_ = d_.host;
  // tf32 keeps 10 mantissa bits of each input, rounded or cut.
  const double input_error = p.allow_tf32 ? 0x1p-9 : 0.0;
  void* out = expected_.data() + d_.offset;
  for (std::int64_t e = 0; e < p.batch; ++e) {
    for (std::int64_t row = 0; row < p.m; ++row) {
      for (std::int64_t col = 0; col < p.n; ++col) {
        double sum = 0;
        double magnitude = 0;
        double squares = 0;
        for (std::int64_t k = 0; k < p.k; ++k) {
          const double term = a_value(e, row, k) * b_value(e, k, col);
          sum += term;
          magnitude += std::fabs(term);
          squares += term * term;
        }
        const double alpha = std::fabs(static_cast<double>(p.alpha));
        double result = static_cast<double>(p.alpha) * sum;
        magnitude *= alpha;
        const double fp8_error =
            case_.fp8_sums ? 0x1p-8 * alpha * (std::sqrt(squares) + 2 * std::fabs(sum)) : 0.0;
        const auto add = [&](double term) {
          result += term;
          magnitude += std::fabs(term);
        };
        if (p.c && p.beta != 0) {
          add(static_cast<double>(p.beta) *
              numeric::load(p.c->type, host_.c, offset_of(*p.c, e, row, col)));
        }
        if (p.bias == Bias::per_row) add(numeric::load(p.bias_type, host_.bias, row));
        if (p.bias == Bias::per_column) add(numeric::load(p.bias_type, host_.bias, col));
        numeric::store(p.d.type, out, offset_of(p.d, e, row, col), result);
        exact_.push_back(result);
        const double sums = (static_cast<double>(p.k) + 4) * 0x1p-24 + input_error;
        const double rounding = std::ldexp(std::fabs(result), -precision(p.d.type));
        // Twice: the expected value is rounded too, perhaps the other way.
        tolerance_.push_back(exact() ? 0
                                     : sums * magnitude + fp8_error + 2.02 * rounding + 0x1p-24);
      }
    }
  }
}

void Fixture::reset() {
  memory_.upload(d_.device, d_.host.data(), d_.host.size());
}

std::vector<std::byte> Fixture::output() {
  std::vector<std::byte> bytes(d_.host.size());
  memory_.download(bytes.data(), d_.device, bytes.size());
  return bytes;
}

std::string Fixture::compare() {
  const Problem& p = case_.problem;
  std::vector<std::byte> actual = output();
  const void* got = actual.data() + d_.offset;
  void* want = expected_.data() + d_.offset;
  std::size_t index = 0;
  for (std::int64_t e = 0; e < p.batch; ++e) {
    for (std::int64_t row = 0; row < p.m; ++row) {
      for (std::int64_t col = 0; col < p.n; ++col, ++index) {
        const std::int64_t at = offset_of(p.d, e, row, col);
        const double x = numeric::load(p.d.type, got, at);
        const double y = numeric::load(p.d.type, want, at);
        if (!same(x, y) && !(std::fabs(x - exact_[index]) <= tolerance_[index])) {
          return fmt::format("{}: D[{},{},{}] is {}, want {} +- {} ({})", case_.name, e, row, col,
                             x, y, tolerance_[index], key(p));
        }
        // What is right is made equal, so that the bytes that remain unequal are beside D.
        const auto size = static_cast<std::size_t>(size_bytes(p.d.type));
        const std::size_t byte = d_.offset + static_cast<std::size_t>(at) * size;
        std::memcpy(actual.data() + byte, expected_.data() + byte, size);
      }
    }
  }
  const auto stray = std::mismatch(actual.begin(), actual.end(), expected_.begin());
  if (stray.first == actual.end()) return "";
  return fmt::format("{}: wrote beside D, {} bytes from its start ({})", case_.name,
                     stray.first - actual.begin() - static_cast<std::ptrdiff_t>(d_.offset), key(p));
}

Workspace make_workspace(Memory& memory, std::size_t bytes) {
  if (bytes == 0) return {};
  const std::vector<std::byte> zeros(bytes + 256);
  auto* block = static_cast<std::byte*>(memory.allocate(bytes + 256));
  memory.upload(block, zeros.data(), zeros.size());
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  return {.data = block + (256 - address % 256) % 256, .bytes = bytes};
}

std::string check(const Family& family, const Device& device, const Configuration& configuration,
                  const Case& description, Memory& memory) {
  Fixture fixture(description, memory);
  return check(family, device, configuration, fixture);
}

std::string check(const Family& family, const Device& device, const Configuration& configuration,
                  Fixture& fixture) {
  Memory& memory = fixture.memory();
  const Canonical form = canonical(fixture.problem());
  const auto kernel = family.build(form.problem, device, configuration);
  const Workspace workspace = make_workspace(memory, kernel->workspace_bytes(form.problem));
  const Operands given = fixture.operands();
  const Operands operands = form.swapped ? given.transposed() : given;
  // Twice: the second run finds the workspace as the first left it.
  for (int run = 0; run < 2; ++run) {
    fixture.reset();
    kernel->run(form.problem, operands, workspace.data, memory.stream());
    const std::string fault = fixture.compare();
    if (!fault.empty()) {
      return fmt::format("{}/{} run {}: {}", family.name(),
                         family.configuration_name(configuration), run + 1, fault);
    }
  }
  return "";
}

}  // namespace gemwright::test
