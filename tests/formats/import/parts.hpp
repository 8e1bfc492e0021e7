// Tensors made in memory, as other programs would write them.
#pragma once

#include "formats/import/raw_tensor.hpp"
#include "numeric/convert.hpp"

#include <cstring>
#include <list>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace gemwright::formats {

class PartsMaker {
 public:
  template <typename Number>
  void add(const std::string& part, const std::string& type, std::vector<std::int64_t> shape,
           const std::vector<Number>& values) {
    std::vector<std::byte> bytes(values.size() * sizeof(Number));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    storage_.push_back(std::move(bytes));
    tensors_[part] = {"layer." + part, type, std::move(shape), storage_.back()};
  }
  void add_f16(const std::string& part, std::vector<std::int64_t> shape,
               const std::vector<float>& values) {
    std::vector<std::uint16_t> halves;
    for (const float value : values) halves.push_back(numeric::to_f16(value));
    add(part, "F16", std::move(shape), halves);
  }
  void remove(const std::string& part) { tensors_.erase(part); }
  Parts parts() const { return {"layer", tensors_}; }

 private:
  std::list<std::vector<std::byte>> storage_;
  std::map<std::string, RawTensor, std::less<>> tensors_;
};

inline std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

/// Values from 0 to below `end`.
inline std::vector<int> random_codes(std::int64_t count, int end, unsigned seed = 5) {
  std::mt19937 random(seed);
  std::vector<int> codes(at(count));
  for (int& code : codes) code = static_cast<int>(random() % static_cast<unsigned>(end));
  return codes;
}

/// Scales that fp16 and bf16 hold exactly.
inline std::vector<float> random_scales(std::int64_t count, unsigned seed = 6) {
  std::mt19937 random(seed);
  std::vector<float> scales(at(count));
  for (float& scale : scales) scale = static_cast<float>(random() % 100 + 1) / 64;
  return scales;
}

/// Fields of so many bits one after the other, in 32-bit words from the lowest bit on.
inline std::vector<std::uint32_t> stream(const std::vector<int>& fields, int bits) {
  std::vector<std::uint32_t> words((fields.size() * at(bits) + 31) / 32);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    for (int bit = 0; bit < bits; ++bit) {
      const std::size_t place = i * at(bits) + at(bit);
      words[place / 32] |= ((static_cast<std::uint32_t>(fields[i]) >> bit) & 1U) << (place % 32);
    }
  }
  return words;
}

}  // namespace gemwright::formats
