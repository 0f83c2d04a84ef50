#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <cstring>

#include "common/os/file.h"
#include "common/text/access.h"

namespace gt {
namespace {

class AccessFile : public testing::Test {
 protected:
  AccessFile() {
    char folder[] = "/tmp/gt-access-XXXXXX";
    folder_ = ::mkdtemp(folder);
    path_ = folder_ + "/access";
  }
  ~AccessFile() override {
    (void)RemoveFile(path_);
    ::rmdir(folder_.c_str());
  }
  void Put(const std::string& text, mode_t mode) {
    ASSERT_TRUE(WriteFile(path_, text, mode).ok());
    ::chmod(path_.c_str(), mode);
  }
  std::string folder_, path_;
};

TEST_F(AccessFile, WhatWasWrittenIsReadBackAndOnlyTheOwnerMayReadIt) {
  ASSERT_TRUE(WriteAccess(path_, {"127.0.0.1:7411", "s3cret", "c1", 1}).ok());
  struct stat info = {};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  auto access = ReadAccess(path_);
  ASSERT_TRUE(access.ok()) << access.status().message();
  EXPECT_EQ(access->address, "127.0.0.1:7411");
  EXPECT_EQ(access->token, "s3cret");
  EXPECT_EQ(access->cluster_id, "c1");
  EXPECT_EQ(access->protocol, 1u);
}

TEST_F(AccessFile, ATokenThatOthersCanReadIsRefused) {
  for (mode_t mode : {0640, 0604, 0666}) {
    Put(R"({"address": "127.0.0.1:1", "token": "t"})", mode);
    EXPECT_EQ(ReadAccess(path_).status().code(), Code::kPermissionDenied) << mode;
  }
}

TEST_F(AccessFile, WhatIsNoAccessFileIsRefusedWithoutShowingItsContent) {
  EXPECT_EQ(ReadAccess(path_).status().code(), Code::kNotFound);
  for (const char* text : {"", "x", "[]", R"({"address": "a:1"})", R"({"token": "t"})",
                           R"({"address": 3, "token": "t"})", R"({"address": "a:1", "token": "two\nlines"})"}) {
    Put(text, 0600);
    EXPECT_EQ(ReadAccess(path_).status().code(), Code::kDataLoss) << text;
  }
  Put(R"({"address": "a:1", "token": "t", "later": [1]})", 0600);
  EXPECT_TRUE(ReadAccess(path_).ok());
}

TEST(AccessCandidates, TheVariableWinsThenTheUserThenTheMachine) {
  EXPECT_EQ(AccessCandidates([](const char* name) { return std::strcmp(name, "GT_ACCESS") == 0 ? "/x" : "/h"; }),
            std::vector<std::string>{"/x"});
  auto home = [](const char* name) { return std::strcmp(name, "HOME") == 0 ? "/h" : nullptr; };
  EXPECT_EQ(AccessCandidates(+home), (std::vector<std::string>{"/h/.config/gridtrain/access", "/etc/gridtrain/access",
                                                               "/var/lib/gridtrain/coordinator/access",
                                                               "/h/.local/share/gridtrain/coordinator/access"}));
  EXPECT_EQ(AccessCandidates([](const char*) -> const char* { return nullptr; }),
            (std::vector<std::string>{"/etc/gridtrain/access", "/var/lib/gridtrain/coordinator/access"}));
}

}  // namespace
}  // namespace gt
