#include "files/safetensors.hpp"

#include "files/files.hpp"
#include "support/folder_fixture.hpp"
#include <gemwright/errors.hpp>

#include <cstring>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace gemwright::files {
namespace {

namespace fs = std::filesystem;

class SafetensorsFiles : public test::FolderFixture {
 protected:
  fs::path write(const std::string& header, std::size_t data_bytes) const {
    std::ofstream out(folder_ / "a.safetensors", std::ios::binary);
    for (int i = 0; i < 8; ++i) out.put(static_cast<char>(header.size() >> (8 * i)));
    out << header << std::string(data_bytes, 'x');
    return folder_ / "a.safetensors";
  }

  std::string refusal(const std::string& header, std::size_t data_bytes) const {
    try {
      const SafetensorsFile file(write(header, data_bytes));
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "taken";
  }

  static std::string tensor(const std::string& name, const std::string& type,
                            const std::string& shape, const std::string& offsets) {
    return '"' + name + R"(":{"dtype":")" + type + R"(","shape":)" + shape + R"(,"data_offsets":)" +
           offsets + "}";
  }
};

Header two_tensors() {
  Header header;
  header.metadata["who"] = "me";
  header.tensors = {{"b", "F16", {2, 3}}, {"a", "U8", {5}}};
  return header;
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

TEST_F(SafetensorsFiles, ReadsWhatItWrote) {
  const fs::path path = folder_ / "out.safetensors";
  {
    SafetensorsWriter writer(path, two_tensors(), "stamp");
    const Tensor& b = writer.header().tensors[0];
    const Tensor& a = writer.header().tensors[1];
    writer.write(b, 6, bytes_of("ghijkl"));
    writer.write(b, 0, bytes_of("abcdef"));
    writer.finish(b, "");
    writer.write(a, 0, bytes_of("12345"));
    writer.finish(a, "");
    EXPECT_FALSE(fs::exists(path));
    writer.commit();
  }
  const SafetensorsFile file(path);
  ASSERT_EQ(file.header().tensors.size(), 2U);
  EXPECT_EQ(file.header().metadata.at("who"), "me");
  const auto text = [&](const char* name) {
    const auto data = file.data(*file.header().find(name));
    return std::string(reinterpret_cast<const char*>(data.data()), data.size());
  };
  EXPECT_EQ(text("a"), "12345");
  EXPECT_EQ(text("b"), "abcdefghijkl");
  EXPECT_EQ((read_header_text(path).size() + 8) % 256, 0U);
  // Nothing else is left behind.
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

TEST_F(SafetensorsFiles, GoesOnWhereItWasBrokenOff) {
  const fs::path path = folder_ / "out.safetensors";
  {
    SafetensorsWriter writer(path, two_tensors(), "stamp");
    const Tensor& b = writer.header().tensors[0];
    writer.write(b, 0, bytes_of("abcdefghijkl"));
    writer.finish(b, "a note");
  }
  {
    const SafetensorsWriter writer(path, two_tensors(), "stamp");
    EXPECT_EQ(writer.done(writer.header().tensors[0]), "a note");
    EXPECT_EQ(writer.done(writer.header().tensors[1]), std::nullopt);
  }
  // A journal that was cut inside a line forgets that line.
  const std::string journal = *read(path.string() + ".journal");
  write_atomically(path.string() + ".journal", journal.substr(0, journal.size() - 2));
  {
    const SafetensorsWriter writer(path, two_tensors(), "stamp");
    EXPECT_EQ(writer.done(writer.header().tensors[0]), std::nullopt);
  }
  write_atomically(path.string() + ".journal", journal);
  {
    const SafetensorsWriter writer(path, two_tensors(), "another stamp");
    EXPECT_EQ(writer.done(writer.header().tensors[0]), std::nullopt);
  }
}

TEST_F(SafetensorsFiles, StartsAgainUnderAnotherHeader) {
  const fs::path path = folder_ / "out.safetensors";
  {
    SafetensorsWriter writer(path, two_tensors(), "stamp");
    writer.finish(writer.header().tensors[0], "");
  }
  Header other = two_tensors();
  other.tensors[0].shape = {3, 2};
  const SafetensorsWriter writer(path, other, "stamp");
  EXPECT_EQ(writer.done(writer.header().tensors[0]), std::nullopt);
}

TEST_F(SafetensorsFiles, IsWrittenByOneAtATime) {
  const fs::path path = folder_ / "out.safetensors";
  {
    SafetensorsWriter writer(path, two_tensors(), "stamp");
    EXPECT_THROW(SafetensorsWriter(path, two_tensors(), "stamp"), Error);
    EXPECT_THROW(SafetensorsWriter(path, {}, "another stamp"), Error);
    writer.write(writer.header().tensors[1], 0, bytes_of("12345"));
    writer.commit();
    // What is written now is another file; the first holds its lock until it goes.
    SafetensorsWriter(path, {}, "").discard();
  }
  EXPECT_EQ(SafetensorsFile(path).header().tensors.size(), 2U);
}

TEST_F(SafetensorsFiles, ReplacesNothingButRegularFiles) {
  fs::create_directory(folder_ / "folder");
  fs::create_symlink("elsewhere", folder_ / "link");
  EXPECT_THROW(SafetensorsWriter(folder_ / "folder", {}, ""), InvalidArgument);
  EXPECT_THROW(SafetensorsWriter(folder_ / "link", {}, ""), InvalidArgument);
  EXPECT_THROW(SafetensorsWriter("/dev/null", {}, ""), InvalidArgument);
}

TEST_F(SafetensorsFiles, RefusesHostileHeadersByTensor) {
  const auto says = [&](const std::string& header, std::size_t data, const std::string& text) {
    const std::string said = refusal(header, data);
    EXPECT_NE(said.find(text), std::string::npos) << said;
  };
  EXPECT_EQ(refusal("{" + tensor("w", "F32", "[2,2]", "[0,16]") + "}", 16), "taken");
  says("{" + tensor("w", "F32", "[2,2]", "[0,16]") + "}", 15, "w: given data up to byte 16");
  says("{" + tensor("w", "F32", "[2,2]", "[0,12]") + "}", 16, "w: given 12 bytes");
  says("{" + tensor("w", "F32", "[2,2]", "[16,0]") + "}", 16, "w.data_offsets");
  says("{" + tensor("w", "F32", "[2,2]", "[-16,0]") + "}", 16, "w.data_offsets");
  says("{" + tensor("w", "F32", "[2,2]", "[0.5,16]") + "}", 16, "w.data_offsets");
  says("{" + tensor("w", "F32", "[2,2]", "[0,16,17]") + "}", 16, "w.data_offsets");
  says("{" + tensor("w", "F32", "[2,2]", "[0,18446744073709551615]") + "}", 16,
       "w: given data up to byte 18446744073709551615");
  says("{" + tensor("w", "F32", "[2147483648,2147483648,2147483648]", "[0,16]") + "}", 16,
       "w.shape");
  says("{" + tensor("w", "F32", "[4,-1]", "[0,16]") + "}", 16, "w.shape");
  says("{" + tensor("v", "F32", "[4]", "[0,16]") + "," + tensor("w", "F32", "[4]", "[12,28]") + "}",
       28, "w: given bytes that overlap those of v");
  says("{" + tensor("w", "F32", "[4]", "[0,0]") + "}", 16, "w: given 0 bytes");
  EXPECT_EQ(refusal("{" + tensor("w", "F4", "[3,3]", "[0,5]") + "}", 5), "taken");
  EXPECT_EQ(refusal("{" + tensor("w", "STRANGE", "[3,3]", "[0,5]") + "}", 5), "taken");
}

TEST_F(SafetensorsFiles, SaysWhenTheDiskRefuses) {
  EXPECT_THROW(SafetensorsWriter(folder_ / "none" / "out.safetensors", two_tensors(), ""), Error);
}

}  // namespace
}  // namespace gemwright::files
