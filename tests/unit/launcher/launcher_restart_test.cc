// The launcher's own life: locks, signals, crashes, reboots.
#include <gmock/gmock.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "common/os/file.h"
#include "common/os/process.h"
#include "tests/unit/launcher/support.h"
#include "worker/launcher/journal.h"

namespace gt::launcher {
namespace {

using testing::HasSubstr;
class Restart : public LauncherTest {};
GT_BOTH_CONTAINMENTS(Restart);

TEST_P(Restart, AfterACrashSurvivorsAreKilledAndReportedWithUnknownExit) {
  StartLauncher();
  Uid instance = client().hello.instance;
  std::string marker = NewMarker();
  Uid uid = Run(Shell("echo hello; (setsid sleep " + marker + " >/dev/null 2>&1 &); trap '' PIPE TERM; "
                      "exec sleep " + marker + " >/dev/null 2>&1", 2));
  ASSERT_TRUE(AppearsByArgument(marker, 4));
  ASSERT_TRUE(client().Until([&] { return client().spool_end > 0; }));
  KillLauncher(SIGKILL);
  StartLauncher();
  EXPECT_NE(client().hello.instance, instance);
  ExitRecord exit = client().WaitExit(uid);
  EXPECT_EQ(exit.why, EndWhy::kLauncherLost);
  EXPECT_EQ(exit.message, "exit unknown (launcher restarted)");
  EXPECT_EQ(CountByArgument(marker), 0);
  ASSERT_EQ(exit.ranks.size(), 2u);
  EXPECT_EQ(exit.ranks[0].stdout_bytes, 6) << "what was spooled stays readable";
  EXPECT_EQ(exit.ranks[0].stderr_bytes, -1);
  EXPECT_EQ(Output(uid), "hello\n");
}

TEST_P(Restart, ExitRecordsSurviveUntilTheyAreForgotten) {
  StartLauncher();
  Uid kept = Run(Shell("echo last words >&2; exit 7")), forgotten = Run(Shell("exit 0"));
  client().WaitExit(kept);
  client().WaitExit(forgotten);
  client().Send(Forget{forgotten});
  client().Send(Stop{forgotten});
  client().WaitPhase(forgotten, Phase::kUnknown);
  RunToEnd("true");  // its exit is on disk, so what was written before it is too
  KillLauncher(SIGKILL);
  StartLauncher();
  ASSERT_EQ(client().states.size(), 2u);
  EXPECT_EQ(client().states.count(forgotten), 0u);
  const ExitRecord& exit = client().states[kept].exit;
  EXPECT_EQ(exit.ranks[0].code, 7);
  EXPECT_EQ(exit.ranks[0].tail, "last words\n");
  Start again = Shell("touch $SHARED/again");
  again.uid = kept;
  Run(again);
  client().TakeFor(200);
  EXPECT_NE(access((shared_ + "/again").c_str(), F_OK), 0) << "an ended attempt was started again";
}

TEST_P(Restart, AttemptsOfAnotherBootAreReportedAsRebooted) {
  Uid uid{7, 8};
  {
    Journal journal;
    std::map<Uid, JournalEntry> none;
    ASSERT_TRUE(MakeDirectories(dir_, 0700).ok());
    ASSERT_TRUE(journal.Open(dir_ + "/journal", &none).ok());
    ASSERT_TRUE(journal.AppendStart({uid, "another-boot", {1}, 4, 2, 0}).ok());
    ASSERT_TRUE(journal.Sync().ok());
  }
  StartLauncher();
  ExitRecord exit = client().WaitExit(uid);
  EXPECT_EQ(exit.why, EndWhy::kNodeRebooted);
  ASSERT_EQ(exit.ranks.size(), 2u);
  EXPECT_EQ(exit.ranks[1].rank, 5u);
}

TEST_P(Restart, ASecondLauncherOnTheSameDirectoryLeavesWithAClearMessage) {
  StartLauncher();
  auto err = OpenFile(shared_ + "/err", O_RDWR | O_CREAT);
  auto second = Spawn({.argv = {GT_LAUNCHER_BINARY, "--dir", dir_}, .stderr_fd = err->get()});
  EXPECT_EQ(WaitFor(*second)->code, 1);
  EXPECT_THAT(ReadText(shared_ + "/err"), HasSubstr("another gt-launcher is running on " + dir_));
  EXPECT_EQ(RunToEnd("true").why, EndWhy::kCompleted);
}

TEST_P(Restart, SigtermIsIgnoredWhileAttemptsLiveAndObeyedAfterwards) {
  StartLauncher();
  Uid uid = Run(Shell("exec sleep 1000"));
  client().WaitPhase(uid, Phase::kRunning);
  kill(pid_, SIGTERM);
  ASSERT_TRUE(Eventually([&] { return ReadText(dir_ + "/launcher.log").find("ignored: 1 attempts live") != std::string::npos; }));
  EXPECT_TRUE(LauncherAlive());
  EXPECT_EQ(client().states[uid].phase, Phase::kRunning);
  client().Send(Stop{uid, 0});
  client().WaitExit(uid);
  KillLauncher(SIGTERM);  // fails the test when it does not leave
}

TEST_P(Restart, AWorkerThatComesBackGetsTheWholePicture) {
  StartLauncher();
  Uid running = Run(Shell("exec sleep 1000")), ended = Run(Shell("exit 1"));
  client().WaitPhase(running, Phase::kRunning);
  client().WaitExit(ended);
  Client other(dir_);
  EXPECT_EQ(other.states[running].phase, Phase::kRunning);
  EXPECT_EQ(other.states[ended].phase, Phase::kEnded);
  EXPECT_EQ(other.hello.instance, client().hello.instance);
}

TEST_P(Restart, ABrokenConnectionHarmsNobody) {
  StartLauncher();
  Uid uid = Run(Shell("exec sleep 1000"));
  client().WaitPhase(uid, Phase::kRunning);
  Client broken(dir_);
  broken.SendBytes(std::string("\xFF\xFF\xFF\xFFgarbage", 11));
  EXPECT_TRUE(broken.Until([&] { return broken.closed; }) || broken.closed);
  client().Send(Stop{uid, 0});
  EXPECT_EQ(client().WaitExit(uid).why, EndWhy::kStopped);
}

}  // namespace
}  // namespace gt::launcher
