// Stopping: everything of an attempt goes, nothing else does.
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include "common/os/clock.h"
#include "tests/unit/launcher/support.h"
#include "worker/launcher/sweep.h"

namespace gt::launcher {
namespace {

using testing::HasSubstr;
class Killing : public LauncherTest {};
GT_BOTH_CONTAINMENTS(Killing);

// Each starts `sleep MARK` in a way that hides it, then goes on.
const char* const kHidingPlaces[] = {
    "sleep MARK & wait",                                            // a plain child
    "setsid sleep MARK & sleep 1000",                               // another session
    "(setsid sh -c 'setsid sleep MARK & exit 0' &) ; sleep 1000",   // double fork, its parent gone
    "trap '' TERM INT HUP; sleep MARK & while :; do sleep 1; done",  // ignores SIGTERM
    "setsid sh -c 'trap \"\" TERM; env -i sleep MARK' & sleep 1000",  // without any of our environment
    "(sleep MARK &) ; exec sleep 1000",
};

std::string With(const std::string& script, const std::string& marker) {
  std::string text = script;
  for (size_t at; (at = text.find("MARK")) != std::string::npos;) text.replace(at, 4, marker);
  return text;
}

TEST_P(Killing, AStopReachesEveryHidingPlace) {
  StartLauncher();
  for (const char* place : kHidingPlaces) {
    std::string marker = NewMarker();
    Uid uid = Run(Shell(With(place, marker), 2));
    ASSERT_TRUE(AppearsByArgument(marker, 2)) << place;
    client().Send(Stop{uid, 200, StopWhy::kCancel});
    ExitRecord exit = client().WaitExit(uid);
    EXPECT_EQ(CountByArgument(marker), 0) << place << ": alive although ENDED was reported";
    EXPECT_EQ(exit.why, EndWhy::kStopped);
    EXPECT_EQ(exit.stop_why, StopWhy::kCancel);
  }
}

TEST_P(Killing, WhatARankLeavesBehindGoesWhenItEnds) {
  StartLauncher();
  for (const char* place : {"sleep MARK & exit 0", "setsid sleep MARK & exit 0", "(setsid sleep MARK &); exit 0"}) {
    std::string marker = NewMarker();
    Uid uid = Run(Shell(With(std::string(place), marker)));
    EXPECT_EQ(client().WaitExit(uid).why, EndWhy::kCompleted);
    EXPECT_EQ(CountByArgument(marker), 0) << place;
  }
}

TEST_P(Killing, WhatForksWhileItIsBeingKilledGoesToo) {
  StartLauncher();
  std::string marker = NewMarker();
  Uid uid = Run(Shell("trap '' TERM; spawn() { while :; do (setsid sleep " + marker + " &); sleep 0.002; done; }; "
                      "spawn & spawn & spawn & wait"));
  ASSERT_TRUE(AppearsByArgument(marker, 20));
  client().Send(Stop{uid, 0, StopWhy::kCancel});
  client().WaitExit(uid);
  EXPECT_EQ(CountByArgument(marker), 0);
}

TEST_P(Killing, StoppingOneOfTwentyLeavesNineteenUntouched) {
  StartLauncher();
  std::string marker = NewMarker(), victim_marker = NewMarker();
  std::vector<Uid> neighbours;
  for (int i = 0; i < 19; ++i) neighbours.push_back(Run(Shell("exec sleep " + marker)));
  Uid victim = Run(Shell("setsid sleep " + victim_marker + " & exec sleep " + victim_marker));
  ASSERT_TRUE(AppearsByArgument(marker, 19));
  ASSERT_TRUE(AppearsByArgument(victim_marker, 2));
  client().Send(Stop{victim, 0, StopWhy::kCancel});
  client().WaitExit(victim);
  EXPECT_EQ(CountByArgument(victim_marker), 0);
  EXPECT_EQ(CountByArgument(marker), 19);
  for (const Uid& uid : neighbours) EXPECT_EQ(client().states[uid].phase, Phase::kRunning);
}

TEST_P(Killing, SigtermComesOnceToTheRankAndItsChildrenAndTheyHaveTheGraceToSave) {
  StartLauncher();
  // The wrapper dies at once; its child needs a moment to save.
  Uid uid = Run(Shell("sh -c 'trap \"sleep 0.3; echo saved >> $SHARED/saved; exit 0\" TERM; touch $SHARED/ready; "
                      "while :; do sleep 0.01; done' & trap 'exit 1' TERM; wait"));
  ASSERT_TRUE(Eventually([&] { return ReadText("/proc/self/stat") != "" && access((shared_ + "/ready").c_str(), F_OK) == 0; }));
  client().Send(Stop{uid, 10'000, StopWhy::kPreempt});
  ExitRecord exit = client().WaitExit(uid);
  EXPECT_EQ(ReadText(shared_ + "/saved"), "saved\n");
  EXPECT_EQ(exit.why, EndWhy::kStopped);
  EXPECT_EQ(exit.stop_why, StopWhy::kPreempt);
}

TEST_P(Killing, ASecondStopMayShortenTheGraceAndNotLengthenIt) {
  StartLauncher();
  Uid uid = Run(Shell("trap '' TERM; while :; do sleep 0.01; done"));
  client().WaitPhase(uid, Phase::kRunning);
  usleep(100'000);  // let it set its trap
  client().Send(Stop{uid, 60'000, StopWhy::kCancel});
  EXPECT_EQ(client().WaitPhase(uid, Phase::kStopping).stopping, StopWhy::kCancel);
  client().TakeFor(200);
  EXPECT_EQ(client().states[uid].phase, Phase::kStopping);
  Millis before = ReadClock().mono;
  client().Send(Stop{uid, 100, StopWhy::kStale});
  client().Send(Stop{uid, 60'000, StopWhy::kCancel});
  ExitRecord exit = client().WaitExit(uid);
  EXPECT_LT(ReadClock().mono - before, 5'000);
  EXPECT_EQ(exit.stop_why, StopWhy::kCancel) << "the first reason stays";
}

TEST_P(Killing, TheTimeLimitIsHeldHere) {
  StartLauncher();
  Start start = Shell("trap '' TERM; while :; do sleep 0.01; done");
  start.time_limit = 300;
  start.grace = 200;
  ExitRecord exit = client().WaitExit(Run(start));
  EXPECT_EQ(exit.why, EndWhy::kTimeLimit);
  EXPECT_GE(exit.ranks[0].ended - exit.ranks[0].started, 490);
  EXPECT_THAT(exit.message, HasSubstr("300ms"));
}

TEST_P(Killing, StopAfterEndsAnAttemptThatNobodyRearms) {
  StartLauncher();
  Start start = Shell("exec sleep 1000");
  start.stop_after = 600;
  Uid uid = Run(start);
  Millis begin = ReadClock().mono;
  for (int i = 0; i < 10; ++i) {
    client().TakeFor(100);
    client().Send(RearmStopAfter{uid, 600});
  }
  EXPECT_EQ(client().states[uid].phase, Phase::kRunning);
  ExitRecord exit = client().WaitExit(uid);
  EXPECT_EQ(exit.why, EndWhy::kStopAfter);
  EXPECT_GE(ReadClock().mono - begin, 1'500);
}

TEST_P(Killing, AttemptsThatAreStoppedBeforeTheyStartEndAtOnce) {
  StartLauncher();
  Start start = Shell("touch $SHARED/started");
  start.local_endpoint = false;
  start.world_size = 2;
  start.hold_port = true;
  Uid uid = Run(start);
  client().WaitPhase(uid, Phase::kPrepared);
  client().Send(Stop{uid, 30'000, StopWhy::kCancel});
  ExitRecord exit = client().WaitExit(uid, 2'000);
  EXPECT_EQ(exit.why, EndWhy::kStopped);
  EXPECT_TRUE(exit.ranks.empty());

  Start second = Shell("touch $SHARED/started");
  std::string both;
  AppendFrame(second, &both);
  AppendFrame(Stop{second.uid, 0, StopWhy::kStale}, &both);
  client().SendBytes(both);
  EXPECT_EQ(client().WaitExit(second.uid).why, EndWhy::kStopped);
  EXPECT_NE(access((shared_ + "/started").c_str(), F_OK), 0);
}

TEST_P(Killing, AMissingRankProgramOfAGangEndsTheRanksThatHaveStarted) {
  StartLauncher();
  std::string marker = NewMarker();
  Start start = Shell("exec sleep " + marker, 2);
  Uid uid = Run(start);
  ASSERT_TRUE(AppearsByArgument(marker, 2));
  // A rank that somebody kills from outside.
  auto processes = ProcessesOfAttempt(uid);
  ASSERT_EQ(processes.size(), 2u);
  EXPECT_TRUE(ProcessesOfAttempt(uid, "/socket/of/another/launcher").empty());
  EXPECT_TRUE(SignalExactly(processes[1], SIGKILL));
  ExitRecord exit = client().WaitExit(uid);
  EXPECT_EQ(exit.why, EndWhy::kRankFailed);
  EXPECT_EQ(exit.ranks[exit.first_failed].signal, SIGKILL);
  EXPECT_EQ(CountByArgument(marker), 0);
}

using KeeperOnly = LauncherTest;
INSTANTIATE_TEST_SUITE_P(Keeper, KeeperOnly, testing::Values("keeper"));

TEST_P(KeeperOnly, WhenTheKeeperItselfIsKilledItsAttemptIsStillCleanedUp) {
  StartLauncher();
  std::string marker = NewMarker();
  Uid uid = Run(Shell("setsid sleep " + marker + " & setsid env -i sleep " + marker + " & exec sleep " + marker));
  ASSERT_TRUE(AppearsByArgument(marker, 3));
  for (const ProcessStat& process : DescendantsOf(pid_)) {
    if (process.parent != pid_) continue;
    EXPECT_TRUE(SignalExactly(process, SIGKILL));
  }
  ExitRecord exit = client().WaitExit(uid);
  EXPECT_EQ(exit.why, EndWhy::kLauncherLost) << "not the program's fault";
  EXPECT_EQ(CountByArgument(marker), 0);
}

}  // namespace
}  // namespace gt::launcher
