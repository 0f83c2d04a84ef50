#include "common/os/file.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "common/os/clock.h"
#include "common/os/random.h"

namespace gt {
namespace {

class FileTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(mkdtemp(dir_.data()), nullptr); }
  void TearDown() override { std::ignore = system(("rm -rf " + dir_).c_str()); }
  std::string dir_ = "/tmp/gt_file_XXXXXX";
};

TEST_F(FileTest, DurableWriteReplacesTheWholeContentAndLeavesNoTempFile) {
  ASSERT_TRUE(WriteFile(dir_ + "/a", "old and longer").ok());
  ASSERT_TRUE(WriteFileDurably(dir_ + "/a", "new", 0600).ok());
  EXPECT_EQ(ReadFile(dir_ + "/a").value(), "new");
  EXPECT_EQ(ListDirectory(dir_).value(), std::vector<std::string>{"a"});
  struct stat info;
  ASSERT_EQ(stat((dir_ + "/a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(FileTest, FailedDurableWriteLeavesTheOldContentAndNoTempFile) {
  ASSERT_TRUE(MakeDirectories(dir_ + "/is_a_directory/x").ok());
  EXPECT_FALSE(WriteFileDurably(dir_ + "/is_a_directory", "data").ok());
  EXPECT_EQ(ListDirectory(dir_).value().size(), 1u);
}

TEST_F(FileTest, ReadSaysWhatIsWrong) {
  EXPECT_EQ(ReadFile(dir_ + "/none").status().code(), Code::kNotFound);
  ASSERT_TRUE(WriteFile(dir_ + "/big", std::string(100, 'x')).ok());
  EXPECT_EQ(ReadFile(dir_ + "/big", 99).status().code(), Code::kResourceExhausted);
  EXPECT_EQ(ReadFile(dir_ + "/big", 100).value().size(), 100u);
}

TEST_F(FileTest, ALockExcludesASecondHolderUntilItIsLetGo) {
  auto first = LockFile(dir_ + "/lock");
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(LockFile(dir_ + "/lock").status().code(), Code::kFailedPrecondition);
  first->Reset();
  EXPECT_TRUE(LockFile(dir_ + "/lock").ok());
}

TEST_F(FileTest, MakeDirectoriesIsIdempotentAndRefusesAFileInTheWay) {
  EXPECT_TRUE(MakeDirectories(dir_ + "/a/b/c", 0700).ok());
  EXPECT_TRUE(MakeDirectories(dir_ + "/a/b/c", 0700).ok());
  ASSERT_TRUE(WriteFile(dir_ + "/file", "").ok());
  EXPECT_FALSE(MakeDirectories(dir_ + "/file/sub").ok());
}

TEST_F(FileTest, SpaceIsKnownAndATempDirectoryIsLocal) {
  EXPECT_GT(FreeBytes(dir_).value(), 0);
  EXPECT_FALSE(OnNetworkFileSystem(dir_).value());
}

TEST(Clock, MonotonicTimeAdvancesAndWallTimeIsThisCentury) {
  Now a = ReadClock(), b = ReadClock();
  EXPECT_GE(b.mono, a.mono);
  EXPECT_GT(a.wall, 1'600'000'000'000);
}

TEST(Random, UidsDiffer) {
  EXPECT_NE(RandomUid().value(), RandomUid().value());
  EXPECT_EQ(RandomKey().value().size(), 32u);
}

}  // namespace
}  // namespace gt
