// safetensors files: headers, checked data, and writing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gemwright::files {

/// One tensor of a header.
struct Tensor {
  std::string name;
  std::string type;  // "BF16", "F8_E4M3", ...
  std::vector<std::int64_t> shape;
  /// Bytes [begin, end) of the data behind the header; both 0 where the header does not say.
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  /// Product of the shape.
  std::int64_t elements() const;
};

struct Header {
  std::vector<Tensor> tensors;  // by name
  std::map<std::string, std::string> metadata;

  /// Null when there is none of that name.
  const Tensor* find(std::string_view name) const;
};

/// The JSON of a header; `file` is named in errors, and the tensor that is wrong. Throws
/// InvalidArgument; offsets may be missing, and are not compared with anything.
Header parse_header(std::string_view json, const std::string& file);

/// That every tensor has as many bytes as its type and shape say, that they lie within `data_bytes`
/// and that no two overlap. Throws InvalidArgument naming file and tensor.
void check_data(const Header& header, std::uint64_t data_bytes, const std::string& file);

/// Bits of an element; nothing for types that are not known.
std::optional<int> bits_of(std::string_view type);

/// The text of a file's header. Throws InvalidArgument for what is no safetensors file.
std::string read_header_text(const std::filesystem::path& path);

/// The .safetensors files of a path: itself, those of an index beside it, or those of a folder.
/// Throws InvalidArgument when there are none, and for an index that names files elsewhere.
std::set<std::filesystem::path> safetensors_files(const std::filesystem::path& path);

/// A file mapped for reading, with a header and data that have been checked. Movable.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);
  ~SafetensorsFile();
  SafetensorsFile(SafetensorsFile&& other) noexcept;
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;

  const Header& header() const { return header_; }
  std::span<const std::byte> data(const Tensor& tensor) const;

 private:
  Header header_;
  std::byte* map_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t data_begin_ = 0;
};

/// A file that is written tensor by tensor, and appears under its name only when it is whole. What
/// is done is kept in a journal beside it, so that a broken-off write goes on where it ended.
class SafetensorsWriter {
 public:
  /// Lays out the tensors in the order given (their offsets are filled in); the data begins at a
  /// multiple of 256 bytes. `stamp` names the inputs: parts of a file under another stamp, or with
  /// another header, are not used. Throws Error when the disk refuses or another process writes the
  /// same file, InvalidArgument (of "out") when the path names something else than a regular file.
  SafetensorsWriter(std::filesystem::path path, Header header, const std::string& stamp);
  ~SafetensorsWriter();
  SafetensorsWriter(const SafetensorsWriter&) = delete;
  SafetensorsWriter& operator=(const SafetensorsWriter&) = delete;

  /// Its tensors are those that the other operations take.
  const Header& header() const { return header_; }
  /// What finish() noted of a tensor in an earlier run; nothing when it is still to be written.
  std::optional<std::string> done(const Tensor& tensor) const;
  /// Bytes of a tensor from an offset within it on; several calls, from several threads.
  void write(const Tensor& tensor, std::uint64_t offset, std::span<const std::byte> bytes) const;
  /// The tensor is complete; `note` is one line to remember.
  void finish(const Tensor& tensor, const std::string& note);
  /// All tensors are: the file gets its name.
  void commit();

  /// Removes the unfinished file and its journal, for content that can never be whole; nothing
  /// else may be called then.
  void discard();

  /// Where the unfinished file is.
  static std::filesystem::path partial(const std::filesystem::path& path);

 private:
  bool resume(const std::string& text, const std::string& stamp);
  std::string number_of(const Tensor& tensor) const;

  std::filesystem::path path_;
  Header header_;
  std::uint64_t data_begin_ = 0;
  int file_ = -1;
  int journal_ = -1;
  std::map<std::string, std::string> done_;
};

}  // namespace gemwright::files
