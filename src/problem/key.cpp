#include <gemwright/errors.hpp>
#include <gemwright/problem.hpp>

#include <charconv>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace gemwright {
namespace {

constexpr std::int32_t kDefaultAlignment = 16;

std::string text_of(const Operand& operand) {
  std::string text =
      fmt::format("{}:{}:{}", name(operand.type), operand.row_stride, operand.col_stride);
  if (operand.batch_stride != 0) text += fmt::format(":{}", operand.batch_stride);
  if (operand.alignment != kDefaultAlignment) text += fmt::format("@{}", operand.alignment);
  if (operand.packed) text += "#packed";
  return text;
}

template <typename Number>
Number parse_number(const std::string& field, std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw InvalidArgument(field, "\"" + std::string(text) + "\"", "a number");
  }
  return value;
}

// Cuts the text up to the separator off the front of `rest`; all of it when there is none.
std::string_view take(std::string_view& rest, char separator) {
  const std::size_t at = rest.find(separator);
  const std::string_view head = rest.substr(0, at);
  rest = at == std::string_view::npos ? std::string_view{} : rest.substr(at + 1);
  return head;
}

Operand parse_operand(const std::string& field, std::string_view text) {
  Operand operand;
  if (text.ends_with("#packed")) {
    operand.packed = true;
    text.remove_suffix(7);
  }
  if (const std::size_t at = text.find('@'); at != std::string_view::npos) {
    operand.alignment = parse_number<std::int32_t>(field + ".alignment", text.substr(at + 1));
    text = text.substr(0, at);
  }
  operand.type = parse_data_type(take(text, ':'));
  operand.row_stride = parse_number<std::int64_t>(field + ".row_stride", take(text, ':'));
  operand.col_stride = parse_number<std::int64_t>(field + ".col_stride", take(text, ':'));
  if (!text.empty()) {
    operand.batch_stride = parse_number<std::int64_t>(field + ".batch_stride", text);
  }
  return operand;
}

void parse_bias(Problem& problem, std::string_view text) {
  const std::string_view kind = take(text, ':');
  if (kind == "none") {
    problem.bias = Bias::none;
  } else if (kind == "row") {
    problem.bias = Bias::per_row;
  } else if (kind == "column") {
    problem.bias = Bias::per_column;
  } else {
    throw InvalidArgument("bias", "\"" + std::string(kind) + "\"", "none, row or column");
  }
  problem.bias_type = parse_data_type(text);
}

void parse_field(Problem& problem, const std::string& field, std::string_view value) {
  if (field == "m") {
    problem.m = parse_number<std::int64_t>(field, value);
  } else if (field == "n") {
    problem.n = parse_number<std::int64_t>(field, value);
  } else if (field == "k") {
    problem.k = parse_number<std::int64_t>(field, value);
  } else if (field == "batch") {
    problem.batch = parse_number<std::int64_t>(field, value);
  } else if (field == "a") {
    problem.a = parse_operand(field, value);
  } else if (field == "b") {
    problem.b = parse_operand(field, value);
  } else if (field == "w") {
    problem.weight = parse_weight_format(value);
  } else if (field == "activations") {
    problem.activations = parse_activations(value);
  } else if (field == "c") {
    problem.c = parse_operand(field, value);
  } else if (field == "d") {
    problem.d = parse_operand(field, value);
  } else if (field == "bias") {
    parse_bias(problem, value);
  } else if (field == "alpha") {
    problem.alpha = parse_number<float>(field, value);
  } else if (field == "beta") {
    problem.beta = parse_number<float>(field, value);
  } else {
    throw InvalidArgument("key", "field \"" + field + "\"",
                          "m, n, k, batch, a, b, w, activations, c, d, bias, alpha, beta, tf32, "
                          "invariant");
  }
}

std::string_view bias_name(Bias bias) {
  if (bias == Bias::none) return "none";
  return bias == Bias::per_row ? "row" : "column";
}

void require(std::string_view text, std::string_view field) {
  const bool at_start = text.starts_with(std::string(field) + "=");
  if (!at_start && text.find(" " + std::string(field) + "=") == std::string_view::npos) {
    throw InvalidArgument("key", "no " + std::string(field), "m, n, k, a, b and d are required");
  }
}

}  // namespace

std::string key(const Problem& problem) {
  std::string text = fmt::format("m={} n={} k={}", problem.m, problem.n, problem.k);
  if (problem.batch != 1) text += fmt::format(" batch={}", problem.batch);
  text +=
      fmt::format(" a={} b={} d={}", text_of(problem.a), text_of(problem.b), text_of(problem.d));
  if (problem.weight) text += " w=" + key(*problem.weight);
  if (problem.activations != Activations::as_given) {
    text += fmt::format(" activations={}", name(problem.activations));
  }
  if (problem.c) text += " c=" + text_of(*problem.c);
  if (problem.bias != Bias::none || problem.bias_type != DataType::f32) {
    text += fmt::format(" bias={}:{}", bias_name(problem.bias), name(problem.bias_type));
  }
  if (problem.alpha != 1.0F) text += fmt::format(" alpha={}", problem.alpha);
  if (problem.beta != 0.0F) text += fmt::format(" beta={}", problem.beta);
  if (problem.allow_tf32) text += " tf32";
  if (problem.batch_invariant) text += " invariant";
  return text;
}

Problem parse_problem(std::string_view text) {
  for (const std::string_view field : {"m", "n", "k", "a", "b", "d"}) require(text, field);
  Problem problem;
  std::set<std::string_view> seen;
  while (!text.empty()) {
    std::string_view word = take(text, ' ');
    if (word.empty()) continue;
    if (const auto field = word.substr(0, word.find('=')); !seen.insert(field).second) {
      throw InvalidArgument("key", std::string(field) + " twice", "each field once");
    }
    if (word == "tf32") {
      problem.allow_tf32 = true;
      continue;
    }
    if (word == "invariant") {
      problem.batch_invariant = true;
      continue;
    }
    const std::string field(take(word, '='));
    parse_field(problem, field, word);
  }
  problem.check();
  return problem;
}

}  // namespace gemwright
