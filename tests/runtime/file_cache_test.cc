#include "support/file_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace spmd {
namespace {

namespace fs = std::filesystem;

class FileCacheTest : public ::testing::Test {
 protected:
  FileCacheTest() {
    std::string name = ::testing::TempDir() + "file-cache-XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~FileCacheTest() override { fs::remove_all(folder_); }
  std::string entry() const { return folder_ + "/deep/cache/" + key_ + ".kernels"; }

  std::string folder_;
  const std::string key_ = FileCache::key({"source", "flags"});
};

TEST_F(FileCacheTest, KeepsWhatIsPut) {
  const FileCache cache(folder_ + "/deep/cache", "kernels");
  EXPECT_FALSE(cache.find(key_));
  const std::string code("code\0with zeros", 15);
  cache.put(key_, code);
  EXPECT_EQ(cache.find(key_), code);
  EXPECT_FALSE(cache.find(FileCache::key({"source", "flags", ""})));
  ASSERT_EQ(cache.list().size(), 1u);
  EXPECT_EQ(cache.list()[0].name, key_);
  EXPECT_EQ(cache.clear(), 1);
  EXPECT_FALSE(cache.find(key_));
  EXPECT_EQ(cache.clear(), 0);
}

TEST_F(FileCacheTest, ListsWhatEntriesAreOf) {
  const FileCache cache(folder_ + "/deep/cache", "kernels");
  cache.put(key_, "some code", "step.mlir: 3 kernels");
  EXPECT_EQ(cache.find(key_), "some code");
  ASSERT_EQ(cache.list().size(), 1u);
  EXPECT_EQ(cache.list()[0].what, "step.mlir: 3 kernels");
  cache.put(key_, "some code", std::string(1000, 'x'));
  EXPECT_EQ(cache.list()[0].what, std::string(400, 'x'));
  EXPECT_EQ(cache.find(key_), "some code");
  cache.put(key_, "some code", std::string("a\0b", 3));
  EXPECT_EQ(cache.list()[0].what, "a");
  std::ofstream(entry()) << "spmdk001 of an older version";
  EXPECT_EQ(cache.list()[0].what, "");
}

TEST_F(FileCacheTest, SaysWhyNothingIsKept) {
  const FileCache cache(folder_ + "/deep", "kernels");
  cache.put(key_, "some code");
  EXPECT_EQ(cache.obstacle(), "");
  chmod((folder_ + "/deep").c_str(), 0777);
  EXPECT_EQ(cache.obstacle(), "can be written by others");
  std::ofstream(folder_ + "/file") << "a file";
  EXPECT_EQ(FileCache(folder_ + "/file", "kernels").obstacle(), "is no folder");
  const FileCache below(folder_ + "/file/kernels", "kernels");
  below.put(key_, "some code");
  EXPECT_EQ(below.obstacle(), "cannot be made: Not a directory");
  EXPECT_EQ(FileCache("", "kernels").obstacle(), "");
}

TEST_F(FileCacheTest, KeysSayWherePartsEnd) {
  EXPECT_NE(FileCache::key({"ab", "c"}), FileCache::key({"a", "bc"}));
}

TEST_F(FileCacheTest, IgnoresDamagedEntries) {
  const FileCache cache(folder_ + "/deep/cache", "kernels");
  cache.put(key_, "some code");
  const auto size = static_cast<int64_t>(fs::file_size(entry()));
  for (int64_t at = 0; at < size; ++at) {
    cache.put(key_, "some code");
    std::fstream file(entry(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at);
    file.put('~');
    file.close();
    EXPECT_FALSE(cache.find(key_)) << at;
  }
  fs::resize_file(entry(), 20);
  std::string fault;
  EXPECT_FALSE(cache.find(key_, &fault));
  EXPECT_EQ(fault, "is damaged");
}

TEST_F(FileCacheTest, SaysWhatIsWrongWithAnEntry) {
  const FileCache cache(folder_ + "/deep/cache", "kernels");
  std::string fault = "something";
  cache.put(FileCache::key({"another"}), "some code");
  EXPECT_FALSE(cache.find(key_, &fault));
  EXPECT_EQ(fault, "") << "there is none";
  cache.put(key_, "some code");
  chmod(entry().c_str(), 0666);
  EXPECT_FALSE(cache.find(key_, &fault));
  EXPECT_EQ(fault, "belongs to another user, or can be written by others");
}

// Kinds do not see each other's entries, where they share a folder.
TEST_F(FileCacheTest, KindsAreApart) {
  const FileCache cache(folder_, "kernels"), other(folder_, "tuning");
  cache.put(key_, "some code");
  EXPECT_FALSE(other.find(key_));
  EXPECT_EQ(other.clear(), 0);
  EXPECT_EQ(cache.list().size(), 1u);
}

TEST_F(FileCacheTest, IgnoresWhatOthersCanWrite) {
  const FileCache cache(folder_ + "/deep/cache", "kernels");
  cache.put(key_, "some code");
  chmod(entry().c_str(), 0666);
  EXPECT_FALSE(cache.find(key_));
  chmod(entry().c_str(), 0600);
  EXPECT_TRUE(cache.find(key_));
  chmod((folder_ + "/deep/cache").c_str(), 0777);
  EXPECT_FALSE(cache.find(key_));
  chmod((folder_ + "/deep/cache").c_str(), 0700);
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ASSERT_EQ(chown(entry().c_str(), 65534, 65534), 0);
  EXPECT_FALSE(cache.find(key_));
}

// Whoever reads sees one of the whole entries.
TEST_F(FileCacheTest, ManyWritersAtOnce) {
  const FileCache cache(folder_ + "/deep/cache", "kernels");
  std::vector<std::thread> writers;
  for (int w = 0; w < 4; ++w)
    writers.emplace_back([&, w] {
      for (int i = 0; i < 50; ++i) {
        cache.put(key_, std::string(1000, static_cast<char>('a' + w)));
        const auto found = cache.find(key_);
        ASSERT_TRUE(found);
        EXPECT_EQ(*found, std::string(1000, (*found)[0]));
      }
    });
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(cache.list().size(), 1u);
}

TEST(FileCache, WithoutAFolderNothingIsKept) {
  const FileCache cache("", "kernels");
  cache.put("key", "code");
  EXPECT_FALSE(cache.find("key"));
  EXPECT_TRUE(cache.list().empty());
}

}  // namespace
}  // namespace spmd
