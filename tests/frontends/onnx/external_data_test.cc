// Tensors whose elements lie in files beside the model.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/support/error_of.h"
#include "tests/support/onnx_model.h"

namespace spmd::onnx_external_data_test {
namespace {

namespace fs = std::filesystem;
using testing::numbers;
using testing::OnnxModel;
using Numbers = std::vector<double>;

class OnnxExternalData : public ::testing::Test {
 protected:
  OnnxExternalData() {
    fs::create_directories(folder_ / "parts");
    write(folder_ / "weights.bin", std::vector<float>{1, 2, 3, 4, 5, 6});
    options_.folder = folder_.string();
  }
  ~OnnxExternalData() override { fs::remove_all(root_); }

  template <typename T>
  static void write(const fs::path& path, const std::vector<T>& values) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(T)));
  }

  // x + w, of which w (two floats) is in a file; `entries` are those of external_data.
  static OnnxModel model(const std::vector<std::pair<std::string, std::string>>& entries) {
    OnnxModel model;
    model.input("x", {"2"})
        .output("y")
        .node("Add", {"x", "w"}, {"y"})
        .initializer("name: 'w' dims: 2 data_type: 1 data_location: EXTERNAL");
    for (const auto& [key, value] : entries) {
      auto& entry = *model.graph().mutable_initializer(0)->add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
    return model;
  }
  Numbers run(const std::vector<std::pair<std::string, std::string>>& entries) const {
    return numbers(run_onnx(model(entries), {testing::f32({2}, {10, 20})}, options_)[0]);
  }
  std::string error(const std::vector<std::pair<std::string, std::string>>& entries) const {
    return testing::error_of([&] { run(entries); });
  }
  void expect_error(const std::vector<std::pair<std::string, std::string>>& entries,
                    const std::string& part) const {
    const std::string found = error(entries);
    EXPECT_NE(found.find(part), std::string::npos) << found;
  }

  const fs::path root_ =
      fs::temp_directory_path() / ("spmd_onnx_external_" + std::to_string(::getpid()));
  const fs::path folder_ = root_ / "model";
  ImportOptions options_;
};

TEST_F(OnnxExternalData, IsReadAtItsOffset) {
  EXPECT_EQ(run({{"location", "weights.bin"}}), (Numbers{11, 22}));
  EXPECT_EQ(run({{"location", "weights.bin"}, {"offset", "8"}}), (Numbers{13, 24}));
  EXPECT_EQ(run({{"location", "weights.bin"}, {"offset", "16"}, {"length", "8"}}),
            (Numbers{15, 26}));
  // Offsets need not be aligned to the elements.
  std::ofstream(folder_ / "odd.bin", std::ios::binary)
      << 'x' << std::string("\0\0\x80\x3f\0\0\0\x40", 8);
  EXPECT_EQ(run({{"location", "odd.bin"}, {"offset", "1"}}), (Numbers{11, 22}));
  // Keys that say nothing about the elements are passed over.
  EXPECT_EQ(run({{"location", "weights.bin"}, {"checksum", "0123"}}), (Numbers{11, 22}));
}

TEST_F(OnnxExternalData, MayLieInFoldersBelowTheModels) {
  fs::copy_file(folder_ / "weights.bin", folder_ / "parts" / "w.bin");
  EXPECT_EQ(run({{"location", "parts/w.bin"}}), (Numbers{11, 22}));
  fs::create_symlink("../weights.bin", folder_ / "parts" / "link.bin");
  EXPECT_EQ(run({{"location", "parts/link.bin"}}), (Numbers{11, 22}));
}

TEST_F(OnnxExternalData, IntegersOfAFileDecideShapes) {
  write(folder_ / "shape.bin", std::vector<int64_t>{3, 2});
  OnnxModel model;
  model.input("x", {"2", "3"})
      .output("y")
      .node("Reshape", {"x", "s"}, {"y"})
      .initializer(
          "name: 's' dims: 2 data_type: 7 data_location: EXTERNAL "
          "external_data { key: 'location' value: 'shape.bin' }");
  const std::vector<Literal> results =
      run_onnx(model, {testing::f32({2, 3}, {1, 2, 3, 4, 5, 6})}, options_);
  EXPECT_EQ(results[0], testing::f32({3, 2}, {1, 2, 3, 4, 5, 6}));
}

TEST_F(OnnxExternalData, SharedByTensorsIsMappedOnceAndKeepsTheirOffsets) {
  OnnxModel model;
  model.input("x", {"2"}).output("y").node("Add", {"x", "v"}, {"s"}).node("Mul", {"s", "w"}, {"y"});
  for (const auto& [name, offset] : {std::pair{"v", "0"}, {"w", "16"}}) {
    model.initializer(std::string("name: '") + name +
                      "' dims: 2 data_type: 1 data_location: EXTERNAL "
                      "external_data { key: 'location' value: 'weights.bin' } "
                      "external_data { key: 'offset' value: '" +
                      offset + "' }");
  }
  EXPECT_EQ(numbers(run_onnx(model, {testing::f32({2}, {10, 20})}, options_)[0]),
            (Numbers{11 * 5, 22 * 6}));
}

TEST_F(OnnxExternalData, MissingFilesAreNamedWithTheTensorAndWhereTheyBelong) {
  const std::string found = error({{"location", "gone.bin"}});
  EXPECT_NE(found.find("tensor w (tensor<2xf32>, 8 B) lies in " + (folder_ / "gone.bin").string() +
                       ", which cannot be read: No such file or directory"),
            std::string::npos)
      << found;
  EXPECT_NE(found.find("keep the files of external data beside the model"), std::string::npos)
      << found;
  expect_error({{"location", "parts"}}, "cannot be read");
}

TEST_F(OnnxExternalData, NothingOutsideTheModelsFolderIsRead) {
  write(root_ / "secret.bin", std::vector<float>{1, 2});
  expect_error({{"location", "../secret.bin"}}, "a path with \"..\"");
  expect_error({{"location", "parts/../../secret.bin"}}, "a path with \"..\"");
  expect_error({{"location", (root_ / "secret.bin").string()}}, "an absolute path");
  fs::create_symlink(root_ / "secret.bin", folder_ / "link.bin");
  expect_error({{"location", "link.bin"}}, "a symbolic link that leaves the folder");
  fs::create_directory_symlink(root_, folder_ / "up");
  expect_error({{"location", "up/secret.bin"}}, "a symbolic link that leaves the folder");
  expect_error({{"location", ""}}, "which is no path");
  expect_error({}, "which is no path");
  expect_error({{"location", std::string("weights.bin\0x", 13)}}, "which is no path");
}

TEST_F(OnnxExternalData, SizesThatDoNotFitAreRefused) {
  expect_error(
      {{"location", "weights.bin"}, {"offset", "20"}},
      "tensor w is bytes 20 to 28 of " + (folder_ / "weights.bin").string() + ", which has 24");
  expect_error({{"location", "weights.bin"}, {"offset", "9223372036854775807"}}, "which has 24");
  expect_error({{"location", "weights.bin"}, {"length", "4"}},
               "external data of 4 bytes for tensor w, which has 8");
  expect_error({{"location", "weights.bin"}, {"offset", "-8"}}, "external data with offset \"-8\"");
  expect_error({{"location", "weights.bin"}, {"offset", "8k"}}, "external data with offset \"8k\"");
  expect_error({{"location", "weights.bin"}, {"length", "99999999999999999999"}},
               "external data with length");
  write(folder_ / "empty.bin", std::vector<float>{});
  expect_error({{"location", "empty.bin"}}, "which has 0");
}

}  // namespace
}  // namespace spmd::onnx_external_data_test
