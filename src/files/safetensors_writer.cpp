#include "files/files.hpp"
#include "files/safetensors.hpp"
#include <gemwright/errors.hpp>

#include <cerrno>
#include <cstring>
#include <sstream>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gemwright::files {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kDataAlignment = 256;

fs::path journal_of(const fs::path& path) {
  return path.string() + ".journal";
}

[[noreturn]] void fail(const char* what, const fs::path& path) {
  throw Error(std::string("cannot ") + what + " " + path.string() + ": " + std::strerror(errno));
}

void write_at(int file, std::uint64_t offset, const std::byte* data, std::size_t bytes,
              const fs::path& path) {
  while (bytes > 0) {
    const ssize_t written = pwrite(file, data, bytes, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail("write", path);
    offset += static_cast<std::uint64_t>(written);
    data += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

// Whether the path still names the open file, or another process has finished and renamed it.
bool is_named(int file, const fs::path& path) {
  struct stat opened {};
  struct stat named {};
  return fstat(file, &opened) == 0 && stat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

// The unfinished file, locked as long as it is open: of two processes one writes.
int open_alone(const fs::path& path, const fs::path& unfinished) {
  std::error_code ignored;
  const fs::file_status there = fs::symlink_status(path, ignored);
  if (fs::exists(there) && !fs::is_regular_file(there)) {
    throw InvalidArgument("out", path.string(), "a new name, or that of a regular file");
  }
  for (;;) {
    const int file = open(unfinished.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (file < 0) fail("write", unfinished);
    if (flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      close(file);
      throw Error("cannot write " + path.string() + ": another process is writing it");
    }
    if (is_named(file, unfinished)) return file;
    close(file);
  }
}

// The length and the JSON, padded with spaces.
std::string text_of(const Header& header) {
  nlohmann::ordered_json object;
  if (!header.metadata.empty()) object["__metadata__"] = header.metadata;
  for (const Tensor& tensor : header.tensors) {
    object[tensor.name] = {{"dtype", tensor.type},
                           {"shape", tensor.shape},
                           {"data_offsets", {tensor.begin, tensor.end}}};
  }
  std::string text = object.is_null() ? "{}" : object.dump();
  text.resize((text.size() + 8 + kDataAlignment - 1) / kDataAlignment * kDataAlignment - 8, ' ');
  std::string length(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(text.size() >> (8 * i));
  return length + text;
}

void lay_out(Header& header) {
  std::uint64_t at = 0;
  for (Tensor& tensor : header.tensors) {
    const auto bits = bits_of(tensor.type);
    if (!bits) {
      throw InvalidArgument(tensor.name + ".dtype", tensor.type, "a type whose size is known");
    }
    tensor.begin = at;
    at += (static_cast<std::uint64_t>(tensor.elements()) * static_cast<unsigned>(*bits) + 7) / 8;
    tensor.end = at;
  }
}

}  // namespace

fs::path SafetensorsWriter::partial(const fs::path& path) {
  return path.string() + ".partial";
}

SafetensorsWriter::SafetensorsWriter(fs::path path, Header header, const std::string& stamp)
    : path_(std::move(path)), header_(std::move(header)) {
  lay_out(header_);
  const std::string text = text_of(header_);
  data_begin_ = text.size();
  const fs::path unfinished = partial(path_);
  file_ = open_alone(path_, unfinished);
  const bool goes_on = resume(text, stamp);
  if (!goes_on) {
    const std::uint64_t end = header_.tensors.empty() ? 0 : header_.tensors.back().end;
    if (ftruncate(file_, 0) != 0 || ftruncate(file_, static_cast<off_t>(data_begin_ + end)) != 0) {
      fail("write", unfinished);
    }
    write_at(file_, 0, reinterpret_cast<const std::byte*>(text.data()), text.size(), unfinished);
    if (fsync(file_) != 0) fail("write", unfinished);
    write_atomically(journal_of(path_), stamp + "\n");
  }
  journal_ = open(journal_of(path_).c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (journal_ < 0) fail("write", journal_of(path_));
}

SafetensorsWriter::~SafetensorsWriter() {
  if (file_ >= 0) close(file_);
  if (journal_ >= 0) close(journal_);
}

// Whether a broken-off write of the same content is there; then what of it is done.
bool SafetensorsWriter::resume(const std::string& text, const std::string& stamp) {
  std::istringstream journal(read(journal_of(path_)).value_or(""));
  std::string line;
  if (!std::getline(journal, line) || line != stamp) return false;
  try {
    if (read_header_text(partial(path_)) != text.substr(8)) return false;
  } catch (const Error&) {
    return false;
  }
  const std::uint64_t end = header_.tensors.empty() ? 0 : header_.tensors.back().end;
  std::error_code ignored;
  if (fs::file_size(partial(path_), ignored) != data_begin_ + end) return false;
  // "NUMBER NOTE." for each tensor; a line that was cut off has no dot at its end.
  while (std::getline(journal, line)) {
    const std::size_t space = line.find(' ');
    if (space == std::string::npos || !line.ends_with('.')) continue;
    done_[line.substr(0, space)] = line.substr(space + 1, line.size() - space - 2);
  }
  return true;
}

std::string SafetensorsWriter::number_of(const Tensor& tensor) const {
  return std::to_string(&tensor - header_.tensors.data());
}

std::optional<std::string> SafetensorsWriter::done(const Tensor& tensor) const {
  const auto found = done_.find(number_of(tensor));
  if (found == done_.end()) return std::nullopt;
  return found->second;
}

void SafetensorsWriter::write(const Tensor& tensor, std::uint64_t offset,
                              std::span<const std::byte> bytes) const {
  write_at(file_, data_begin_ + tensor.begin + offset, bytes.data(), bytes.size(), path_);
}

void SafetensorsWriter::finish(const Tensor& tensor, const std::string& note) {
  if (fdatasync(file_) != 0) fail("write", path_);
  const std::string line = number_of(tensor) + " " + note + ".\n";
  if (::write(journal_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    fail("write", journal_of(path_));
  }
  done_[number_of(tensor)] = note;
}

void SafetensorsWriter::commit() {
  if (fsync(file_) != 0) fail("write", path_);
  if (std::rename(partial(path_).c_str(), path_.c_str()) != 0) fail("write", path_);
  std::error_code ignored;
  fs::remove(journal_of(path_), ignored);
}

void SafetensorsWriter::discard() {
  std::error_code ignored;
  fs::remove(partial(path_), ignored);
  fs::remove(journal_of(path_), ignored);
}

}  // namespace gemwright::files
