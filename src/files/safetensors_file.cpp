#include "files/safetensors.hpp"
#include <gemwright/errors.hpp>

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gemwright::files {

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) {
  const std::string text = read_header_text(path);
  header_ = parse_header(text, path.string());
  data_begin_ = 8 + text.size();
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (file < 0 || fstat(file, &status) != 0) {
    const std::string reason = std::strerror(errno);
    if (file >= 0) close(file);
    throw Error("cannot read " + path.string() + ": " + reason);
  }
  bytes_ = static_cast<std::size_t>(status.st_size);
  const auto data_bytes = bytes_ < data_begin_ ? 0 : bytes_ - data_begin_;
  void* map = mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, file, 0);
  const std::string reason = std::strerror(errno);
  close(file);
  if (map == MAP_FAILED) throw Error("cannot map " + path.string() + ": " + reason);
  map_ = static_cast<std::byte*>(map);
  try {
    check_data(header_, data_bytes, path.string());
  } catch (...) {
    munmap(map_, bytes_);
    throw;
  }
}

SafetensorsFile::~SafetensorsFile() {
  if (map_ != nullptr) munmap(map_, bytes_);
}

SafetensorsFile::SafetensorsFile(SafetensorsFile&& other) noexcept
    : header_(std::move(other.header_)),
      map_(std::exchange(other.map_, nullptr)),
      bytes_(other.bytes_),
      data_begin_(other.data_begin_) {}

std::span<const std::byte> SafetensorsFile::data(const Tensor& tensor) const {
  return {map_ + data_begin_ + tensor.begin, static_cast<std::size_t>(tensor.end - tensor.begin)};
}

}  // namespace gemwright::files
