#include "common/log/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "common/os/file.h"

namespace gt {
namespace {

TEST(LogLine, FieldsAreKeysWithValuesThatCannotForgeALine) {
  EXPECT_EQ(FormatLogLine("task placed", {{"job", JobId{42}}, {"rank", 3}, {"node", "gpu-7"}}),
            "task placed job=42 rank=3 node=gpu-7");
  EXPECT_EQ(FormatLogLine("x", {{"why", "two words"}, {"q", "a\"b"}, {"empty", ""}}),
            "x why=\"two words\" q=\"a\\\"b\" empty=\"\"");
  EXPECT_EQ(FormatLogLine("a\nb", {{"name", "evil\n2026 error"}}), "a\\nb name=\"evil\\n2026 error\"");
}

TEST(Log, LinesCarryTimeAndLevelAndLowerLevelsAreLeftOut) {
  char path[] = "/tmp/gt-log-XXXXXX";
  ::close(::mkstemp(path));
  {
    auto log = Log::Open(LogLevel::kInfo, path);
    ASSERT_TRUE(log.ok());
    (*log)->Debug("hidden");
    (*log)->Info("started", {{"port", 7411}});
    (*log)->Error("broken");
    auto text = ReadFile(path);  // flushed line by line
    ASSERT_TRUE(text.ok());
    EXPECT_THAT(*text, testing::MatchesRegex(
                           "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z info started port=7411\n"
                           "[^ ]+Z error broken\n"));
  }
  (void)RemoveFile(path);
}

TEST(Log, AFileThatCannotBeOpenedIsAStatus) {
  EXPECT_EQ(Log::Open(LogLevel::kInfo, "/nonexistent/folder/log").status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace gt
