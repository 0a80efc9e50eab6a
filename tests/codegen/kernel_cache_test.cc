#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "codegen/kernels/cache.h"

namespace spmd::codegen::kernels {
namespace {

namespace fs = std::filesystem;

class KernelCacheTest : public ::testing::Test {
 protected:
  KernelCacheTest() {
    std::string name = ::testing::TempDir() + "kernel-cache-XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~KernelCacheTest() override { fs::remove_all(folder_); }
  std::string entry() const { return folder_ + "/deep/cache/" + key_ + ".kernels"; }

  std::string folder_;
  const std::string key_ = KernelCache::key({"source", "flags"});
};

TEST_F(KernelCacheTest, KeepsWhatIsPut) {
  const KernelCache cache(folder_ + "/deep/cache");
  EXPECT_FALSE(cache.find(key_));
  const std::string code("code\0with zeros", 15);
  cache.put(key_, code);
  EXPECT_EQ(cache.find(key_), code);
  EXPECT_FALSE(cache.find(KernelCache::key({"source", "flags", ""})));
  ASSERT_EQ(cache.list().size(), 1u);
  EXPECT_EQ(cache.list()[0].name, key_);
  EXPECT_EQ(cache.clear(), 1);
  EXPECT_FALSE(cache.find(key_));
  EXPECT_EQ(cache.clear(), 0);
}

TEST_F(KernelCacheTest, SaysWhyNothingIsKept) {
  const KernelCache cache(folder_ + "/deep");
  cache.put(key_, "some code");
  EXPECT_EQ(cache.obstacle(), "");
  chmod((folder_ + "/deep").c_str(), 0777);
  EXPECT_EQ(cache.obstacle(), "can be written by others");
  std::ofstream(folder_ + "/file") << "a file";
  EXPECT_EQ(KernelCache(folder_ + "/file").obstacle(), "is no folder");
  const KernelCache below(folder_ + "/file/kernels");
  below.put(key_, "some code");
  EXPECT_EQ(below.obstacle(), "cannot be made: Not a directory");
  EXPECT_EQ(KernelCache("").obstacle(), "");
}

TEST_F(KernelCacheTest, KeysSayWherePartsEnd) {
  EXPECT_NE(KernelCache::key({"ab", "c"}), KernelCache::key({"a", "bc"}));
}

TEST_F(KernelCacheTest, IgnoresDamagedEntries) {
  const KernelCache cache(folder_ + "/deep/cache");
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
  EXPECT_FALSE(cache.find(key_));
}

TEST_F(KernelCacheTest, IgnoresWhatOthersCanWrite) {
  const KernelCache cache(folder_ + "/deep/cache");
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
TEST_F(KernelCacheTest, ManyWritersAtOnce) {
  const KernelCache cache(folder_ + "/deep/cache");
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

TEST(KernelCache, WithoutAFolderNothingIsKept) {
  const KernelCache cache("");
  cache.put("key", "code");
  EXPECT_FALSE(cache.find("key"));
  EXPECT_TRUE(cache.list().empty());
}

}  // namespace
}  // namespace spmd::codegen::kernels
