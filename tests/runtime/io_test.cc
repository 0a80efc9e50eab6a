#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "runtime/io/npy.h"
#include "runtime/io/safetensors.h"
#include "runtime/io/tensor_source.h"
#include "support/error.h"

namespace spmd {
namespace {

namespace fs = std::filesystem;

class Io : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() /
              ("spmd_io_" + std::to_string(::getpid()) + "_" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
  }
  std::string read(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string error_of(const std::function<void()>& f) const {
    try {
      f();
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  }
  static std::string with_header(const std::string& header, const std::string& data) {
    const uint64_t length = header.size();
    return std::string(reinterpret_cast<const char*>(&length), 8) + header + data;
  }

  fs::path folder_;
};

Tensor make_tensor(plan::DType dtype, std::vector<int64_t> shape) {
  Tensor tensor{dtype, std::move(shape), {}};
  tensor.bytes.resize(static_cast<size_t>(tensor.view().num_bytes()));
  for (size_t i = 0; i < tensor.bytes.size(); ++i) tensor.bytes[i] = static_cast<std::byte>(i * 7);
  return tensor;
}

void expect_equal(const TensorView& a, const TensorView& b) {
  EXPECT_EQ(a.dtype, b.dtype);
  EXPECT_EQ(a.shape, b.shape);
  if (a.num_bytes() == 0) return;
  EXPECT_EQ(std::memcmp(a.data, b.data, static_cast<size_t>(a.num_bytes())), 0);
}

TEST_F(Io, SafetensorsRoundTripOfEveryType) {
  std::vector<SafetensorsWriter::Entry> entries;
  std::vector<Tensor> tensors;
  for (plan::DType dtype : {plan::BOOL, plan::S8, plan::S16, plan::S32, plan::S64, plan::U8,
                            plan::U16, plan::U32, plan::U64, plan::F8E4M3FN, plan::F8E5M2,
                            plan::F16, plan::BF16, plan::F32, plan::F64, plan::C64, plan::C128}) {
    tensors.push_back(make_tensor(dtype, {3, 1, 5}));
    entries.push_back({"t." + std::to_string(dtype), dtype, {3, 1, 5}});
  }
  tensors.push_back(make_tensor(plan::F32, {}));
  entries.push_back({"a scalar", plan::F32, {}});
  tensors.push_back(make_tensor(plan::F32, {0, 4}));
  entries.push_back({"empty", plan::F32, {0, 4}});
  SafetensorsWriter writer(path("t.safetensors"), entries, {{"step", "3"}});
  for (const Tensor& tensor : tensors) writer.write(tensor.view());
  EXPECT_FALSE(fs::exists(path("t.safetensors")));
  writer.finish();
  const SafetensorsFile file(path("t.safetensors"));
  EXPECT_EQ(file.metadata().at("step"), "3");
  ASSERT_EQ(file.names().size(), entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    ASSERT_NE(file.find(entries[i].name), nullptr);
    expect_equal(*file.find(entries[i].name), tensors[i].view());
  }
}

TEST_F(Io, AnUnfinishedFileLeavesNothing) {
  { SafetensorsWriter writer(path("t.safetensors"), {{"a", plan::F32, {2}}}); }
  EXPECT_TRUE(fs::is_empty(folder_));
  EXPECT_NE(
      error_of([&] { SafetensorsWriter(path("no/t.safetensors"), {}); }).find("cannot be written"),
      std::string::npos);
}

TEST_F(Io, SafetensorsWithOverlapsOrGaps) {
  const auto error = [&](const std::string& offsets_a, const std::string& offsets_b) {
    write("o.safetensors",
          with_header(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":)" + offsets_a +
                          R"(},"b":{"dtype":"U8","shape":[2],"data_offsets":)" + offsets_b +
                          R"(},"none":{"dtype":"U8","shape":[0],"data_offsets":[2,2]}})",
                      "wxyz"));
    return error_of([&] { SafetensorsFile file(path("o.safetensors")); });
  };
  EXPECT_EQ(error("[2,4]", "[0,2]"), "");
  EXPECT_EQ(error("[0,2]", "[1,3]"),
            path("o.safetensors") +
                ": tensor b: its data overlaps that of a\n  the file is damaged; write it again");
  EXPECT_NE(error("[1,3]", "[1,3]").find("tensor a: the 1 bytes before it belong to no tensor"),
            std::string::npos);
  EXPECT_NE(error("[0,2]", "[0,2]").find("tensor b: its data overlaps that of a"),
            std::string::npos);
  write("t.safetensors",
        with_header(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", "wxyz"));
  EXPECT_NE(error_of([&] {
              SafetensorsFile file(path("t.safetensors"));
            }).find("the last 2 bytes belong to no tensor"),
            std::string::npos);
}

TEST_F(Io, SafetensorsThatAreNone) {
  const std::string entry = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  const std::pair<std::string, std::string> cases[] = {
      {"", "too short"},
      {"hello world, this is text", "not a safetensors file"},
      {with_header(entry, ""), "truncated"},
      {with_header(entry, "").substr(0, 20), "truncated: the header has"},
      {with_header("[1]", ""), "no JSON object"},
      {with_header("{", ""), "no JSON object"},
      {with_header(R"({"a":{"dtype":"F33","shape":[],"data_offsets":[0,4]}})", "1234"),
       "tensor a: has the unknown type F33"},
      {with_header(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,4]}})", "1234"),
       "has 4 bytes of data for f32[3]"},
      {with_header(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "1234"),
       "no list of sizes"},
      {with_header(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})",
                   ""),
       "larger than any file"},
      {with_header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[8,4]}})", "12345678"),
       "truncated"},
      {with_header(R"({"a":3})", ""), "lacks dtype"},
  };
  for (const auto& [bytes, want] : cases) {
    write("t", bytes);
    const std::string got = error_of([&] { SafetensorsFile file(path("t")); });
    EXPECT_NE(got.find(want), std::string::npos) << want << "\n got " << got;
    EXPECT_EQ(got.find(path("t")), 0u);
  }
  EXPECT_NE(error_of([&] { SafetensorsFile file(path("none")); }).find("cannot be read"),
            std::string::npos);
}

TEST_F(Io, NpyRoundTripAndVersions) {
  for (plan::DType dtype : {plan::BOOL, plan::S32, plan::U8, plan::F16, plan::F32, plan::C64}) {
    for (const std::vector<int64_t>& shape :
         {std::vector<int64_t>{}, std::vector<int64_t>{4}, std::vector<int64_t>{2, 3}}) {
      const Tensor tensor = make_tensor(dtype, shape);
      write_npy(path("a.npy"), tensor.view());
      expect_equal(NpyFile(path("a.npy")).tensor(), tensor.view());
    }
  }
  const std::string header = "{'descr': '<i4', 'fortran_order': False, 'shape': (1,), }\n";
  for (char version : {2, 3}) {
    const uint32_t length = static_cast<uint32_t>(header.size());
    write("b.npy", std::string("\x93NUMPY") + version + std::string(1, '\0') +
                       std::string(reinterpret_cast<const char*>(&length), 4) + header +
                       std::string("\1\0\0\0", 4));
    EXPECT_EQ(element_as_double(plan::S32, NpyFile(path("b.npy")).tensor().data), 1);
  }
}

std::string npy(const std::string& header, const std::string& data) {
  const auto length = static_cast<uint16_t>(header.size());
  return std::string("\x93NUMPY\x01\x00", 8) +
         std::string(reinterpret_cast<const char*>(&length), 2) + header + data;
}

TEST_F(Io, NpyInFortranOrderAndBigEndian) {
  write("f.npy", npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3)}",
                     std::string("\0\1\2\3\4\5", 6)));
  const NpyFile fortran(path("f.npy"));
  const uint8_t want[] = {0, 2, 4, 1, 3, 5};
  EXPECT_EQ(std::memcmp(fortran.tensor().data, want, 6), 0);
  write("b.npy",
        npy("{'descr': '>i2', 'fortran_order': False, 'shape': (1,)}", std::string("\1\2", 2)));
  EXPECT_EQ(element_as_double(plan::S16, NpyFile(path("b.npy")).tensor().data), 0x102);
}

TEST_F(Io, NpyThatAreNone) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "not a .npy file"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", "1234"),
       "truncated: 4 bytes of data for f32[3]"},
      {npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", "1234"),
       "elements of type |O"},
      {npy("{'descr': '<f4', 'shape': (1,)}", "1234"), "the header is not"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", ""),
       "the header is not"},
      {npy("{", ""), "the header is not"},
      {npy("not a dictionary", ""), "the header is not"},
  };
  for (const auto& [bytes, want] : cases) {
    write("t.npy", bytes);
    const std::string got = error_of([&] { NpyFile file(path("t.npy")); });
    EXPECT_NE(got.find(want), std::string::npos) << want << "\n got " << got;
  }
}

TEST_F(Io, SourcesAreKnownByContent) {
  const Tensor a = make_tensor(plan::F32, {2}), b = make_tensor(plan::S32, {3});
  write_npy(path("a.npy"), a.view());
  SafetensorsWriter writer(path("b.safetensors"), {{"layer.bias", plan::S32, {3}}});
  writer.write(b.view());
  writer.finish();
  expect_equal(open_tensor_source(path("a.npy"))->get("a"), a.view());
  const auto folder = open_tensor_source(folder_.string());
  expect_equal(folder->get("a"), a.view());
  expect_equal(folder->get("layer.bias"), b.view());
  const std::string got = error_of([&] { folder->get("layer.bais"); });
  EXPECT_NE(got.find("holds no tensor layer.bais"), std::string::npos) << got;
  EXPECT_NE(got.find("the nearest is layer.bias"), std::string::npos) << got;
}

// What NumPy, PyTorch and others write is named, with how to convert it.
TEST_F(Io, NamesForeignFiles) {
  const auto zip_of = [](const std::string& entry) {
    std::string header("PK\x03\x04", 4);
    header += std::string(22, '\0') + static_cast<char>(entry.size()) + std::string(3, '\0');
    return header + entry + "content";
  };
  const auto refusal = [&](const std::string& name, const std::string& bytes) {
    write(name, bytes);
    return error_of([&] { open_tensor_source(path(name)); });
  };
  const std::string npz = refusal("b.npz", zip_of("x.npy"));
  EXPECT_EQ(npz.find(path("b.npz") + ": is a NumPy archive (.npz), which is not read\n  unzip it"),
            0u)
      << npz;
  EXPECT_NE(npz.find("save_file(dict(numpy.load(\"" + path("b.npz") + "\")), \"b.safetensors\")"),
            npz.npos)
      << npz;
  EXPECT_NE(refusal("a.pt", zip_of("a/data.pkl")).find("is a PyTorch file, which is not read\n"),
            npz.npos);
  EXPECT_NE(refusal("a.zip", zip_of("readme.txt")).find("is a ZIP archive"), npz.npos);
  EXPECT_NE(refusal("a.h5", "\x89HDF\r\n\x1a\n0000").find("is an HDF5 file"), npz.npos);
  EXPECT_NE(refusal("a.gz", "\x1f\x8b\x08 0000000").find("is compressed by gzip"), npz.npos);
  EXPECT_NE(refusal("a.pkl", "\x80\x04 0000000").find("is a Python pickle"), npz.npos);
  // The first file of a folder in which nothing is to be read.
  fs::create_directories(path("folder"));
  write("folder/b.npz", zip_of("x.npy"));
  EXPECT_NE(error_of([&] { open_tensor_source(path("folder")); }).find("folder/b.npz: is a NumPy"),
            npz.npos);
  // A safetensors file whose header has 0x088b1f bytes is one.
  std::string header = R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  header.resize(0x088b1f, ' ');
  write("spaces.safetensors", with_header(header, "a"));
  EXPECT_EQ(open_tensor_source(path("spaces.safetensors"))->names()[0], "x");
}

}  // namespace
}  // namespace spmd
