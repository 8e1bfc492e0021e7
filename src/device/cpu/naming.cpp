#include "device/cpu/naming.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <regex>
#include <string_view>

#include <fmt/format.h>
#include <sys/utsname.h>

namespace gemwright::cpu {
namespace {

struct Microarchitecture {
  int family, first_model, last_model, first_stepping, last_stepping;
  std::string_view name;
  bool server;
  bool amx = false;
};

// Family and model numbers: Linux, arch/x86/include/asm/intel-family.h.
constexpr std::array kIntel = {
    Microarchitecture{6, 0x3C, 0x3C, 0, 15, "Haswell", false},
    Microarchitecture{6, 0x3F, 0x3F, 0, 15, "Haswell", true},
    Microarchitecture{6, 0x45, 0x46, 0, 15, "Haswell", false},
    Microarchitecture{6, 0x3D, 0x3D, 0, 15, "Broadwell", false},
    Microarchitecture{6, 0x47, 0x47, 0, 15, "Broadwell", false},
    Microarchitecture{6, 0x4F, 0x4F, 0, 15, "Broadwell", true},
    Microarchitecture{6, 0x56, 0x56, 0, 15, "Broadwell", true},
    Microarchitecture{6, 0x4E, 0x4E, 0, 15, "Skylake", false},
    Microarchitecture{6, 0x5E, 0x5E, 0, 15, "Skylake", false},
    Microarchitecture{6, 0x55, 0x55, 0, 4, "Skylake", true},
    Microarchitecture{6, 0x55, 0x55, 5, 7, "Cascade Lake", true},
    Microarchitecture{6, 0x55, 0x55, 8, 15, "Cooper Lake", true},
    Microarchitecture{6, 0x8E, 0x8E, 0, 15, "Kaby Lake", false},
    Microarchitecture{6, 0x9E, 0x9E, 0, 15, "Kaby Lake", false},
    Microarchitecture{6, 0xA5, 0xA6, 0, 15, "Comet Lake", false},
    Microarchitecture{6, 0x6A, 0x6A, 0, 15, "Ice Lake", true},
    Microarchitecture{6, 0x6C, 0x6C, 0, 15, "Ice Lake", true},
    Microarchitecture{6, 0x7D, 0x7E, 0, 15, "Ice Lake", false},
    Microarchitecture{6, 0x8C, 0x8D, 0, 15, "Tiger Lake", false},
    Microarchitecture{6, 0xA7, 0xA7, 0, 15, "Rocket Lake", false},
    Microarchitecture{6, 0x97, 0x97, 0, 15, "Alder Lake", false},
    Microarchitecture{6, 0x9A, 0x9A, 0, 15, "Alder Lake", false},
    Microarchitecture{6, 0xB7, 0xB7, 0, 15, "Raptor Lake", false},
    Microarchitecture{6, 0xBA, 0xBA, 0, 15, "Raptor Lake", false},
    Microarchitecture{6, 0xBF, 0xBF, 0, 15, "Raptor Lake", false},
    Microarchitecture{6, 0xAA, 0xAA, 0, 15, "Meteor Lake", false},
    Microarchitecture{6, 0xAC, 0xAC, 0, 15, "Meteor Lake", false},
    Microarchitecture{6, 0xBD, 0xBD, 0, 15, "Lunar Lake", false},
    Microarchitecture{6, 0xC5, 0xC6, 0, 15, "Arrow Lake", false},
    Microarchitecture{6, 0x8F, 0x8F, 0, 15, "Sapphire Rapids", true, true},
    Microarchitecture{6, 0xCF, 0xCF, 0, 15, "Emerald Rapids", true, true},
    Microarchitecture{6, 0xAD, 0xAE, 0, 15, "Granite Rapids", true, true},
    Microarchitecture{6, 0xAF, 0xAF, 0, 15, "Sierra Forest", true},
};

// Model ranges: Linux, arch/x86/kernel/cpu/amd.c.
constexpr std::array kAmd = {
    Microarchitecture{0x17, 0x01, 0x01, 0, 1, "Zen", false},
    Microarchitecture{0x17, 0x01, 0x01, 2, 15, "Zen", true},
    Microarchitecture{0x17, 0x00, 0x2F, 0, 15, "Zen", false},
    Microarchitecture{0x17, 0x31, 0x31, 0, 15, "Zen 2", true},
    Microarchitecture{0x17, 0x30, 0xAF, 0, 15, "Zen 2", false},
    Microarchitecture{0x19, 0x00, 0x0F, 0, 15, "Zen 3", true},
    Microarchitecture{0x19, 0x10, 0x1F, 0, 15, "Zen 4", true},
    Microarchitecture{0x19, 0x20, 0x5F, 0, 15, "Zen 3", false},
    Microarchitecture{0x19, 0x60, 0x8F, 0, 15, "Zen 4", false},
    Microarchitecture{0x19, 0xA0, 0xAF, 0, 15, "Zen 4", true},
    Microarchitecture{0x1A, 0x00, 0x1F, 0, 15, "Zen 5", true},
    Microarchitecture{0x1A, 0x20, 0x7F, 0, 15, "Zen 5", false},
};

template <std::size_t size>
const Microarchitecture* find(const std::array<Microarchitecture, size>& table,
                              const Identity& id) {
  for (const Microarchitecture& entry : table) {
    if (entry.family == id.family && entry.first_model <= id.model &&
        id.model <= entry.last_model && entry.first_stepping <= id.stepping &&
        id.stepping <= entry.last_stepping && (entry.amx || !id.amx)) {
      return &entry;
    }
  }
  return nullptr;
}

// "Intel(R) Xeon(R) Platinum 8592+ CPU @ 1.9GHz" becomes "Intel Xeon Platinum 8592+".
std::string clean(const std::string& brand) {
  static const std::regex noise(
      R"(\((R|TM|r|tm)\)| CPU| @.*| \d+-Core| Processor| with Radeon.*|\bDual\b)");
  static const std::regex spaces(R"( +)");
  std::string text = std::regex_replace(brand, noise, "");
  text = std::regex_replace(text, spaces, " ");
  const auto first = text.find_first_not_of(' ');
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

bool has_digit(const std::string& text) {
  return std::any_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

std::string slug_of(std::string_view text) {
  std::string slug;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      slug += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!slug.empty() && slug.back() != '-') {
      slug += '-';
    }
  }
  return slug;
}

Name other_processor() {
  utsname system{};
  const std::string machine = uname(&system) == 0 ? system.machine : "unknown";
  return {machine + " CPU", "cpu-" + slug_of(machine)};
}

// The product line, from the brand where it is told, else from the model.
std::string line_of(const std::string& brand, bool amd, bool server) {
  for (const std::string_view line : {"EPYC", "Threadripper", "Ryzen", "Xeon", "Core", "Ultra"}) {
    if (brand.find(line) != std::string::npos) return std::string(line);
  }
  if (amd) return server ? "EPYC" : "Ryzen";
  return server ? "Xeon" : "Core";
}

}  // namespace

Name name_of(const Identity& id) {
  const bool amd = id.vendor == "AuthenticAMD";
  if (!amd && id.vendor != "GenuineIntel") return other_processor();
  const Microarchitecture* found = amd ? find(kAmd, id) : find(kIntel, id);
  const std::string vendor = amd ? "AMD" : "Intel";
  const std::string line = line_of(id.brand, amd, found != nullptr && found->server);
  const std::string micro =
      found != nullptr ? std::string(found->name) : fmt::format("{}-{}", id.family, id.model);
  const std::string brand = clean(id.brand);
  const std::string product = has_digit(brand) ? brand : vendor + " " + line;
  // "zen4", not "zen-4": as its users write it.
  std::string micro_slug = slug_of(micro);
  if (micro_slug.starts_with("zen-")) micro_slug.erase(3, 1);
  return {fmt::format("{} ({})", product, micro),
          fmt::format("{}-{}-{}", slug_of(vendor), slug_of(line), micro_slug)};
}

}  // namespace gemwright::cpu
