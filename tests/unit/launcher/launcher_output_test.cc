// What ranks print.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "common/os/clock.h"
#include "common/os/file.h"
#include "tests/unit/launcher/support.h"

namespace gt::launcher {
namespace {

using testing::HasSubstr;
class Output : public LauncherTest {};
GT_BOTH_CONTAINMENTS(Output);

TEST_P(Output, AHundredThousandFastLinesComeBackByteForByte) {
  StartLauncher();
  Uid uid = Run(Shell("seq $((RANK * 1000000 + 1)) $((RANK * 1000000 + 100000)); echo done >&2", 2));
  ExitRecord exit = client().WaitExit(uid);
  for (uint32_t rank = 0; rank < 2; ++rank) {
    std::string want;
    for (int i = 1; i <= 100000; ++i) want += std::to_string(rank * 1000000 + i) + "\n";
    std::string got = LauncherTest::Output(uid, rank);
    EXPECT_TRUE(got == want) << got.size() << " bytes instead of " << want.size();
    EXPECT_EQ(exit.ranks[rank].stdout_bytes, static_cast<int64_t>(want.size()));
    EXPECT_EQ(exit.ranks[rank].stderr_bytes, 5);
    EXPECT_EQ(exit.ranks[rank].lost_bytes, 0);
    EXPECT_EQ(LauncherTest::Output(uid, rank, Stream::kStderr), "done\n");
  }
}

TEST_P(Output, BytesThatAreNoTextStayAsTheyAre) {
  StartLauncher();
  Uid uid = Run(Shell("printf 'a\\0b\\377\\n\\n no newline at the end'"));
  client().WaitExit(uid);
  EXPECT_EQ(LauncherTest::Output(uid), std::string("a\0b\377\n\n no newline at the end", 28));
}

TEST_P(Output, ALineIsReadableWhileTheRankRuns) {
  StartLauncher();
  Uid uid = Run(Shell("echo first; exec sleep 1000"));
  ASSERT_TRUE(client().Until([&] { return client().spool_end > 0; }, 2'000));
  EXPECT_EQ(LauncherTest::Output(uid), "first\n");
}

TEST_P(Output, ARankOverItsLimitIsCutVisiblyAndGoesOn) {
  StartLauncher({"--rank-output-limit", "64KiB"});
  Uid uid = Run(Shell("yes 0123456789abcdef | head -c 1000000; echo finished > $SHARED/finished"));
  ExitRecord exit = client().WaitExit(uid);
  EXPECT_EQ(exit.why, EndWhy::kCompleted);
  EXPECT_EQ(ReadText(shared_ + "/finished"), "finished\n");
  EXPECT_EQ(exit.ranks[0].lost_bytes, 1'000'000 - 65'536);
  std::string text = LauncherTest::Output(uid);
  EXPECT_EQ(exit.ranks[0].stdout_bytes, static_cast<int64_t>(text.size()));
  EXPECT_THAT(text, HasSubstr("[gridtrain: output is not kept from here on: the limit of 64KiB per rank is reached]"));
}

TEST_P(Output, OnAFullDiskRanksGoOnAndTheirOutputIsCutVisibly) {
  std::string spool = dir_ + "/spool";
  ASSERT_TRUE(MakeDirectories(spool, 0700).ok());
  if (mount("tmpfs", spool.c_str(), "tmpfs", 0, "size=512k") != 0) GTEST_SKIP() << "cannot mount a small disk";
  StartLauncher({"--spool-segment", "128KiB"});
  Uid uid = Run(Shell("yes 0123456789abcdef | head -c 3000000; echo finished > $SHARED/finished; exit 3"));
  ExitRecord exit = client().WaitExit(uid);
  EXPECT_EQ(exit.ranks[0].code, 3);
  EXPECT_EQ(ReadText(shared_ + "/finished"), "finished\n");
  EXPECT_GT(exit.ranks[0].lost_bytes, 2'000'000);
  std::string text = LauncherTest::Output(uid);
  EXPECT_THAT(text, HasSubstr("[gridtrain: output is not kept from here on: No space left on device]"));
  EXPECT_EQ(exit.ranks[0].stdout_bytes, static_cast<int64_t>(text.size()));
  // Once the coordinator has taken what there is, output is kept again.
  client().Send(SpoolAck{client().spool_end});
  usleep(1'200'000);
  Uid later = Run(Shell("echo kept again; exec sleep 0.1"));
  client().WaitExit(later);
  EXPECT_EQ(LauncherTest::Output(later), "kept again\n");
  KillLauncher(SIGTERM);
  EXPECT_EQ(umount(spool.c_str()), 0);
}

TEST_P(Output, AcknowledgedSegmentsAreDeleted) {
  StartLauncher({"--spool-segment", "64KiB"});
  client().WaitExit(Run(Shell("yes 0123456789abcdef | head -c 1000000")));
  size_t before = ListSegments(dir_ + "/spool")->size();
  EXPECT_GT(before, 10u);
  client().Send(SpoolAck{client().spool_end});
  EXPECT_TRUE(Eventually([&] { return ListSegments(dir_ + "/spool")->size() == 1; }));
}

TEST_P(Output, APipeThatOutlivesTheRankDoesNotDelayTheEnd) {
  StartLauncher();
  Millis before = ReadClock().mono;
  Uid uid = Run(Shell("(setsid sleep 1000 &); echo over"));
  EXPECT_EQ(client().WaitExit(uid).why, EndWhy::kCompleted);
  EXPECT_LT(ReadClock().mono - before, 5'000);
  EXPECT_EQ(LauncherTest::Output(uid), "over\n");
}

}  // namespace
}  // namespace gt::launcher
