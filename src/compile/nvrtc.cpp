#include "compile/nvrtc.hpp"

#include "compile/sources.hpp"
#include "files/shared_library.hpp"
#include <gemwright/errors.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>

#include <fmt/format.h>
#include <nvrtc.h>

namespace gemwright::compile {
namespace {

// NVRTC knows --minimal from CUDA 12.4 on.
constexpr int kMinimalSince = 12040;

struct Nvrtc {
  files::SharedLibrary library;
  decltype(&nvrtcVersion) version = nullptr;
  decltype(&nvrtcCreateProgram) create = nullptr;
  decltype(&nvrtcDestroyProgram) destroy = nullptr;
  decltype(&nvrtcCompileProgram) compile = nullptr;
  decltype(&nvrtcGetCUBINSize) cubin_size = nullptr;
  decltype(&nvrtcGetCUBIN) cubin = nullptr;
  decltype(&nvrtcGetProgramLogSize) log_size = nullptr;
  decltype(&nvrtcGetProgramLog) log = nullptr;
  decltype(&nvrtcGetErrorString) error_string = nullptr;
  int number = 0;    // 13000 is 13.0
  std::string name;  // "nvrtc13.0"
  std::string error;
};

template <typename Function>
bool find(const files::SharedLibrary& library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(library.symbol(name));
  return function != nullptr;
}

Nvrtc open() {
  constexpr std::array names{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
  Nvrtc nvrtc;
  nvrtc.library = files::open_library("GEMWRIGHT_LIBNVRTC", names, "cuda_nvrtc");
  if (!nvrtc.library) {
    nvrtc.error = fmt::format(
        "NVRTC is not there, so CUDA kernels cannot be compiled: {}. Install the CUDA toolkit (12 "
        "or 13) or the pip package nvidia-cuda-nvrtc",
        nvrtc.library.error);
    return nvrtc;
  }
  int major = 0;
  int minor = 0;
  const auto& library = nvrtc.library;
  if (!find(library, "nvrtcVersion", nvrtc.version) ||
      !find(library, "nvrtcCreateProgram", nvrtc.create) ||
      !find(library, "nvrtcDestroyProgram", nvrtc.destroy) ||
      !find(library, "nvrtcCompileProgram", nvrtc.compile) ||
      !find(library, "nvrtcGetCUBINSize", nvrtc.cubin_size) ||
      !find(library, "nvrtcGetCUBIN", nvrtc.cubin) ||
      !find(library, "nvrtcGetProgramLogSize", nvrtc.log_size) ||
      !find(library, "nvrtcGetProgramLog", nvrtc.log) ||
      !find(library, "nvrtcGetErrorString", nvrtc.error_string) ||
      nvrtc.version(&major, &minor) != NVRTC_SUCCESS) {
    nvrtc.error = fmt::format("{} is not an NVRTC of CUDA 12 or 13", library.path);
    return nvrtc;
  }
  nvrtc.number = major * 1000 + minor * 10;
  nvrtc.name = fmt::format("nvrtc{}.{}", major, minor);
  return nvrtc;
}

const Nvrtc& nvrtc() {
  static const Nvrtc opened = open();
  return opened;
}

// Destroys the program when it goes.
struct Program {
  nvrtcProgram handle = nullptr;
  Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() {
    if (handle != nullptr) nvrtc().destroy(&handle);
  }
};

void check(nvrtcResult result, const Source& source, const char* call) {
  if (result == NVRTC_SUCCESS) return;
  throw Error(fmt::format("{}: {} says {}", source.file, call, nvrtc().error_string(result)));
}

std::string program_log(const Program& program) {
  std::size_t size = 0;
  if (nvrtc().log_size(program.handle, &size) != NVRTC_SUCCESS || size <= 1) return {};
  std::string log(size, '\0');
  if (nvrtc().log(program.handle, log.data()) != NVRTC_SUCCESS) return {};
  while (!log.empty() && log.back() == '\0') log.pop_back();  // NVRTC's size counts its zeros
  return log;
}

void create(Program& program, const Source& source) {
  const auto* file = find_file(source.file);
  if (file == nullptr) throw Error(fmt::format("there is no device source {}", source.file));
  const std::string text =
      fmt::format("{}\n#line 1 \"{}\"\n{}", source.preamble, source.file, file->text);
  std::vector<const char*> names;
  std::vector<const char*> texts;
  for (const auto* header : included_files(file->text)) {
    // Both views are of literals, which end with a zero.
    names.push_back(header->name.data());
    texts.push_back(header->text.data());
  }
  check(nvrtc().create(&program.handle, text.c_str(), source.file.c_str(),
                       static_cast<int>(names.size()), texts.data(), names.data()),
        source, "nvrtcCreateProgram");
}

// The number before `unit`, as in "0 bytes spill stores"; 0 when it is not in the line.
int number_before(std::string_view line, std::string_view unit) {
  const auto at = line.find(unit);
  if (at == std::string_view::npos) return 0;
  auto begin = at;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int value = 0;
  for (auto i = begin; i < at; ++i) value = value * 10 + (line[i] - '0');
  return value;
}

}  // namespace

const std::string& nvrtc_version(std::string* why) {
  if (why != nullptr) *why = nvrtc().error;
  return nvrtc().name;
}

std::vector<std::string> nvrtc_options(const Source& source) {
  std::vector<std::string> options{
      fmt::format("--gpu-architecture=sm_{}{}", source.sm, source.arch_specific ? "a" : ""),
      "--std=c++20", "--ptxas-options=-v"};
  return options;
}

BuildReport parse_log(const std::string& log) {
  BuildReport report;
  std::size_t begin = 0;
  while (begin < log.size()) {
    const auto end = std::min(log.find('\n', begin), log.size());
    const std::string_view line(log.data() + begin, end - begin);
    begin = end + 1;
    const bool properties = line.find("bytes stack frame") != std::string_view::npos;
    report.registers = std::max(report.registers, number_before(line, " registers"));
    report.spill_bytes += number_before(line, " bytes spill stores");
    report.spill_bytes += number_before(line, " bytes spill loads");
    report.shared_bytes =
        std::max<std::size_t>(report.shared_bytes, number_before(line, " bytes smem"));
    const bool plain = line.find("ptxas info") != std::string_view::npos &&
                       line.find("(C75") == std::string_view::npos;
    const bool stack = properties && number_before(line, " bytes stack frame") > 0;
    if (!line.empty() && !plain && (!properties || stack)) {
      report.log.append(line).push_back('\n');
    }
  }
  return report;
}

Compiled nvrtc_compile(const Source& source) {
  if (nvrtc().name.empty()) throw Error(nvrtc().error);
  const auto start = std::chrono::steady_clock::now();
  Program program;
  create(program, source);

  auto options = nvrtc_options(source);
  if (nvrtc().number >= kMinimalSince) options.emplace_back("--minimal");
  for (const auto& folder : files::toolkit_folders("include", "cuda_runtime")) {
    options.push_back("-I" + folder);
  }
  std::vector<const char*> arguments;
  arguments.reserve(options.size());
  for (const auto& option : options) arguments.push_back(option.c_str());

  const auto result =
      nvrtc().compile(program.handle, static_cast<int>(arguments.size()), arguments.data());
  const std::string log = program_log(program);
  if (result != NVRTC_SUCCESS) {
    throw Error(fmt::format("{} does not compile for sm_{} with\n{}{}: {}\n{}", source.file,
                            source.sm, source.preamble, nvrtc().name, nvrtc().error_string(result),
                            log));
  }
  std::size_t size = 0;
  check(nvrtc().cubin_size(program.handle, &size), source, "nvrtcGetCUBINSize");
  auto cubin = std::make_shared<std::vector<char>>(size);
  check(nvrtc().cubin(program.handle, cubin->data()), source, "nvrtcGetCUBIN");

  Compiled compiled;
  compiled.cubin = std::move(cubin);
  compiled.report = parse_log(log);
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  compiled.report.compile_ms = spent.count();
  return compiled;
}

}  // namespace gemwright::compile
