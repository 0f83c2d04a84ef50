// How ranks end, and what is told about it.
#include <gmock/gmock.h>
#include <signal.h>

#include "tests/unit/launcher/support.h"

namespace gt::launcher {
namespace {

using testing::HasSubstr;
class Exits : public LauncherTest {};
GT_BOTH_CONTAINMENTS(Exits);

TEST_P(Exits, AllZeroIsCompletedAndEveryPhaseIsTold) {
  StartLauncher();
  EXPECT_THAT(client().hello.containment, HasSubstr(GetParam()));
  Uid uid = Run(Shell("sleep 0.1", 3));
  ExitRecord exit = client().WaitExit(uid);
  EXPECT_EQ(exit.why, EndWhy::kCompleted);
  EXPECT_EQ(exit.first_failed, kNoRank);
  ASSERT_EQ(exit.ranks.size(), 3u);
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(exit.ranks[i].rank, i);
    EXPECT_EQ(exit.ranks[i].code, 0);
    EXPECT_GT(exit.ranks[i].pid, 0);
    EXPECT_GE(exit.ranks[i].ended, exit.ranks[i].started + 50);
  }
  EXPECT_GT(exit.peak_memory, 100'000);
  EXPECT_EQ(client().phases[uid].front(), Phase::kRunning);
}

TEST_P(Exits, TheCodeIsThatOfTheRealProcess) {
  StartLauncher();
  EXPECT_EQ(RunToEnd("exit 3").ranks[0].code, 3);
  EXPECT_EQ(RunToEnd("exec sh -c 'exit 75'").ranks[0].code, 75);
  EXPECT_EQ(RunToEnd("true | sh -c 'exit 4'").ranks[0].code, 4);
  EXPECT_EQ(RunToEnd("sh -c 'kill -9 $$'; exit $?").ranks[0].code, 137);
  ExitRecord killed = RunToEnd("kill -SEGV $$");
  EXPECT_EQ(killed.why, EndWhy::kRankFailed);
  EXPECT_EQ(killed.ranks[0].signal, SIGSEGV);
  EXPECT_EQ(killed.ranks[0].code, -1);
  EXPECT_THAT(killed.message, HasSubstr("rank 0 was killed by signal 11"));
}

TEST_P(Exits, ACoreDumpIsSeen) {
  StartLauncher();
  Start start = Shell("ulimit -c 1000000 2>/dev/null || exit 9; kill -QUIT $$");
  start.workdir = shared_;
  ExitRecord exit = client().WaitExit(Run(start));
  if (exit.ranks[0].code == 9 || ReadText("/proc/sys/kernel/core_pattern") == "\n") GTEST_SKIP() << "no cores on this machine";
  EXPECT_EQ(exit.ranks[0].signal, SIGQUIT);
  EXPECT_TRUE(exit.ranks[0].core);
}

TEST_P(Exits, TheFirstFailedRankIsNamedAndTheOthersAreStopped) {
  StartLauncher();
  ExitRecord exit = RunToEnd("if [ $RANK = 2 ]; then\n"
                             "  until [ -e $SHARED/0 -a -e $SHARED/1 -a -e $SHARED/3 ]; do sleep 0.01; done\n"
                             "  sleep 0.2; echo broken >&2; exit 5\n"
                             "fi\n"
                             "trap 'exit 6' TERM; touch $SHARED/$RANK; while :; do sleep 0.01; done", 4);
  EXPECT_EQ(exit.why, EndWhy::kRankFailed);
  EXPECT_EQ(exit.first_failed, 2u);
  EXPECT_EQ(exit.ranks[2].code, 5);
  EXPECT_EQ(exit.ranks[2].tail, "broken\n");
  EXPECT_EQ(exit.ranks[0].code, 6) << "the others get SIGTERM first";
  EXPECT_GE(exit.first_failure, exit.ranks[2].started + 150);
  EXPECT_LE(exit.ended, exit.first_failure + 2000);
  EXPECT_THAT(exit.message, HasSubstr("rank 2 exited with code 5"));
}

TEST_P(Exits, ARankThatIgnoresTheStopOfABrokenGangIsKilledAfterFailGrace) {
  StartLauncher();
  ExitRecord exit = RunToEnd("if [ $RANK = 1 ]; then until [ -e $SHARED/deaf ]; do sleep 0.01; done; exit 1; fi\n"
                             "trap '' TERM; touch $SHARED/deaf; while :; do sleep 0.01; done", 2);
  EXPECT_EQ(exit.first_failed, 1u);
  EXPECT_EQ(exit.ranks[0].signal, SIGKILL);
  EXPECT_GE(exit.ended - exit.first_failure, 290);
  EXPECT_LE(exit.ended - exit.first_failure, 3000);
}

TEST_P(Exits, TheLastOfStderrOrElseOfStdoutIsInTheRecord) {
  StartLauncher();
  EXPECT_EQ(RunToEnd("echo out; exit 1").ranks[0].tail, "out\n");
  EXPECT_EQ(RunToEnd("echo out; echo err >&2; exit 1").ranks[0].tail, "err\n");
  std::string tail = RunToEnd("seq 1 100000 >&2; exit 1").ranks[0].tail;
  EXPECT_EQ(tail.size(), 4096u);
  EXPECT_THAT(tail, HasSubstr("\n99999\n100000\n"));
}

TEST_P(Exits, TorchrunsErrorFileIsRead) {
  StartLauncher();
  ExitRecord exit = RunToEnd(R"(echo '{"message": {"message": "ValueError: bad shape", "extraInfo": {}}}' > $TORCHELASTIC_ERROR_FILE; exit 1)");
  EXPECT_EQ(exit.ranks[0].message, "ValueError: bad shape");
}

TEST_P(Exits, WhatCannotStartSaysWhichRankAndWhy) {
  StartLauncher();
  Start missing = Shell("");
  missing.argv = {"/no/such/program"};
  ExitRecord exit = client().WaitExit(Run(missing));
  EXPECT_EQ(exit.why, EndWhy::kRankFailed) << "the job's fault, not the machine's";
  ASSERT_EQ(exit.ranks.size(), 1u);
  EXPECT_EQ(exit.ranks[0].code, 127);
  EXPECT_EQ(exit.ranks[0].message, "exec /no/such/program: No such file or directory");
  EXPECT_EQ(exit.message, "exec /no/such/program: No such file or directory");

  Start unknown = Shell("");
  unknown.argv = {"no-such-program"};
  EXPECT_EQ(client().WaitExit(Run(unknown)).message, "exec no-such-program: not found in PATH");

  Start folder = Shell("", 2);
  folder.argv = {"/etc/passwd"};
  EXPECT_EQ(client().WaitExit(Run(folder)).message, "rank 0: exec /etc/passwd: Permission denied");

  Start workdir = Shell("true");
  workdir.workdir = "/no/such/dir";
  EXPECT_EQ(client().WaitExit(Run(workdir)).message, "work directory /no/such/dir: No such file or directory");

  Start nothing = Shell("true");
  nothing.argv.clear();
  EXPECT_EQ(client().WaitExit(Run(nothing)).message, "there is no command to run");
}

TEST_P(Exits, AProgramIsFoundInThePathOfTheJob) {
  StartLauncher();
  Start start = Shell("");
  start.argv = {"env"};
  EXPECT_EQ(client().WaitExit(Run(start)).why, EndWhy::kCompleted);
}

TEST_P(Exits, AKnownUidIsAnsweredAndNeverStartedAgain) {
  StartLauncher();
  Start start = Shell("echo x >> $SHARED/starts");
  client().WaitExit(Run(start));
  client().states.clear();
  client().Send(start);
  EXPECT_EQ(client().WaitExit(start.uid).why, EndWhy::kCompleted);
  client().TakeFor(200);
  EXPECT_EQ(ReadText(shared_ + "/starts"), "x\n");
}

TEST_P(Exits, ForgottenAttemptsAreUnknown) {
  StartLauncher();
  Uid uid = Run(Shell("true"));
  client().WaitExit(uid);
  client().Send(Forget{uid});
  client().Send(Stop{uid});
  client().WaitPhase(uid, Phase::kUnknown);
}

}  // namespace
}  // namespace gt::launcher
