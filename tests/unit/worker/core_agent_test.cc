#include <gmock/gmock.h>

#include "tests/unit/worker/agent_world.h"

namespace gt::worker {
namespace {

AttemptOrder Member(uint64_t n, uint32_t group_rank, Endpoint master = {}) {
  AttemptOrder order = Wants(n);
  order.group_rank = group_rank;
  order.group_world_size = 2;
  order.master = master;
  return order;
}

TEST(Agent, StartsWhatIsOrderedOnce) {
  World world;
  EXPECT_EQ(world.Joined().Order({Wants(1)}).One<StartAttempt>().start.uid, U(1));
  EXPECT_EQ(world.Order({Wants(1)}).Count<StartAttempt>(), 0u);
}

TEST(Agent, StartsWhenTheLauncherComes) {
  World world;
  world.Joined().Step({LauncherLost{}}).Order({Wants(1)});
  EXPECT_EQ(world.Count<StartAttempt>(), 0u);
  EXPECT_EQ(world.Launcher().Count<StartAttempt>(), 1u);
}

TEST(Agent, AStartThatTheLauncherNeverJournalledIsSaidAgain) {
  World world;
  world.Joined().Order({Wants(1), Wants(2)}).Step({LauncherLost{}});
  world.Launcher({Is(2, AttemptPhase::kRunning)});
  EXPECT_EQ(world.One<StartAttempt>().start.uid, U(1));
}

TEST(Agent, AdoptsWhatTheLauncherHolds) {
  World world;
  world.Launcher({Is(1, AttemptPhase::kRunning)}).Joined({Wants(1)});
  EXPECT_EQ(world.Count<StartAttempt>() + world.Count<StopAttempt>(), 0u);
  EXPECT_EQ(world.agent->attempts().at(U(1)).phase, AttemptPhase::kRunning);
}

TEST(Agent, StopsWhatACompleteListDoesNotName) {
  World world;
  world.Launcher({Is(1, AttemptPhase::kRunning), Is(2, AttemptPhase::kRunning)}).Connected();
  world.Orders(NodeOrders{.welcome = Welcome{}, .attempts = {Wants(1)}, .snapshot_begin = true});
  EXPECT_EQ(world.Count<StopAttempt>(), 0u);
  world.Orders(NodeOrders{.snapshot_end = true});
  EXPECT_EQ(world.One<StopAttempt>().uid, U(2));
  EXPECT_EQ(world.One<StopAttempt>().why, Cause::kNone);
}

TEST(Agent, AnExitIsReportedUntilForget) {
  World world;
  world.Joined().Order({Wants(1)}).Ack().Step({Exited(1, 3)}).Ack();
  world.Step({Disconnected{}}).After(5000).Step({Connected{}});
  ASSERT_TRUE(world.Reported(1));
  EXPECT_EQ(world.Reported(1)->exit->ranks[0].code, 3);
  world.Joined();  // the coordinator does not name it: it stays all the same
  ASSERT_TRUE(world.agent->attempts().contains(U(1)));
  EXPECT_EQ(world.Orders(NodeOrders{.forget = {U(1)}}).One<ForgetAttempt>().uid, U(1));
  EXPECT_FALSE(world.agent->attempts().contains(U(1)));
}

TEST(Agent, DoesNotForgetWhatStillRuns) {
  World world;
  world.Joined().Order({Wants(1)}).Step({Is(1, AttemptPhase::kRunning)});
  EXPECT_EQ(world.Orders(NodeOrders{.forget = {U(1)}}).Count<ForgetAttempt>(), 0u);
  EXPECT_TRUE(world.agent->attempts().contains(U(1)));
}

TEST(Agent, ForgetOfSomethingNeverHeardOfStillReachesTheLauncher) {
  World world;
  EXPECT_EQ(world.Joined().Orders(NodeOrders{.forget = {U(9)}}).Count<ForgetAttempt>(), 1u);
}

TEST(Agent, StopIsPassedOnAndFinal) {
  World world;
  world.Joined().Order({Wants(1)}).Step({Is(1, AttemptPhase::kRunning)}).Order({Halt(1, Cause::kPreempted, 700)});
  EXPECT_EQ(world.One<StopAttempt>().grace, 700);
  EXPECT_EQ(world.One<StopAttempt>().why, Cause::kPreempted);
  world.Step({LauncherLost{}}).Launcher();
  EXPECT_EQ(world.Order({Wants(1)}).Count<StartAttempt>(), 0u);
}

TEST(Agent, StopIsRepeatedToANewLauncher) {
  World world;
  world.Joined().Order({Wants(1)}).Step({Is(1, AttemptPhase::kRunning)}).Step({LauncherLost{}}).Order({Halt(1)});
  EXPECT_EQ(world.Count<StopAttempt>(), 0u);
  EXPECT_EQ(world.Launcher({Is(1, AttemptPhase::kRunning)}).Count<StopAttempt>(), 1u);
}

TEST(Agent, StopOfSomethingNeverHeardOfIsAnsweredUnknownOnce) {
  World world;
  EXPECT_TRUE(world.Joined().Order({Halt(4)}).Reported(4)->unknown);
  world.Ack();
  EXPECT_FALSE(world.agent->attempts().contains(U(4)));
}

TEST(Agent, StopWhileTheLauncherIsAwayWaitsForWhatItHolds) {
  World world;
  world.Joined().Step({LauncherLost{}}).Order({Halt(4)}).Ack();
  EXPECT_FALSE(world.Reported(4));
  EXPECT_EQ(world.Launcher({Is(4, AttemptPhase::kRunning)}).Count<StopAttempt>(), 1u);
}

TEST(Agent, WhatTheLauncherLostIsReportedEndedWithExitUnknown) {
  World world;
  world.Joined().Order({Wants(1)}).Ack().Step({Is(1, AttemptPhase::kRunning)}).Ack().Step({LauncherLost{}}).Launcher();
  ASSERT_TRUE(world.Reported(1));
  EXPECT_EQ(world.Reported(1)->exit->why, ExitWhy::kUnknown);
}

TEST(Agent, AnOrderWithoutLaunchDataEndsTheAttemptAndIsAcknowledged) {
  World world;
  world.Joined().Order({Wants(1, 77)});
  EXPECT_EQ(world.Reported(1)->exit->why, ExitWhy::kLaunchFailed);
  EXPECT_EQ(world.report.ack, world.order_seq);
}

TEST(Agent, RankZeroOfAScriptGangHoldsAPortAndReportsIt) {
  World world;
  EXPECT_TRUE(world.Joined().Order({Member(1, 0)}).One<StartAttempt>().start.hold_port);
  LauncherState prepared = Is(1, AttemptPhase::kStarting);
  prepared.endpoint = {"10.0.0.1", 20001};
  EXPECT_EQ(world.Step({prepared}).Reported(1)->endpoint->port, 20001);
  EXPECT_EQ(world.Count<GoAttempt>(), 0u);
}

TEST(Agent, TheRendezvousIsPassedOnOnce) {
  World world;
  EXPECT_FALSE(world.Joined().Order({Member(1, 1)}).One<StartAttempt>().start.hold_port);
  world.Step({Is(1, AttemptPhase::kStarting)}).Order({Member(1, 1, {"10.0.0.1", 20001})});
  EXPECT_EQ(world.One<GoAttempt>().master, (Endpoint{"10.0.0.1", 20001}));
  EXPECT_EQ(world.Order({Member(1, 1, {"10.0.0.1", 20001})}).Count<GoAttempt>(), 0u);
}

TEST(Agent, ANewerGenerationIsPassedOnAndAnOlderOneIsNot) {
  World world;
  AttemptOrder second = Member(1, 1, {"10.0.0.2", 20002});
  second.generation = Generation{2};
  world.Joined().Order({Member(1, 1, {"10.0.0.1", 20001})}).Step({Is(1, AttemptPhase::kRunning)});
  EXPECT_EQ(world.Order({second}).One<GoAttempt>().generation, Generation{2});
  EXPECT_EQ(world.Order({Member(1, 1, {"10.0.0.1", 20001})}).Count<GoAttempt>(), 0u);
}

TEST(Agent, ADeadRankIsReportedAndTheGenerationThatReplacesItIsPassedOnAlsoOnOneNode) {
  World world;
  world.Joined().Order({Wants(1)}).Step({Is(1, AttemptPhase::kRunning)}).Ack();
  LauncherState broken = Is(1, AttemptPhase::kRunning);
  broken.formation = Formation{.survives = true, .down = {{.born = {1}, .exit = {.rank = 1, .signal = 9}}}};
  world.Step({broken});
  ASSERT_TRUE(world.Reported(1) && world.Reported(1)->formation);
  EXPECT_EQ(world.Reported(1)->formation->down.at(0).exit.signal, 9);
  AttemptOrder next = Wants(1);
  next.generation = {2};
  next.local_endpoint = true;
  next.master = {"127.0.0.1", 4000};
  next.born = {{1}, {2}};
  GoAttempt go = world.Order({next}).One<GoAttempt>();
  EXPECT_EQ(go.generation, Generation{2});
  EXPECT_EQ(go.born, next.born);
  EXPECT_EQ(world.Order({next}).Count<GoAttempt>(), 0u);
}

// What was said of the generation before is dropped by a coordinator that is ahead.
TEST(Agent, AllIsSaidAgainOfANewGeneration) {
  World world;
  LauncherState running = Is(1, AttemptPhase::kRunning);
  world.Joined().Order({Wants(1)}).Step({running, RankSaid{U(1), {}, CheckpointNotice{.step = 5, .path = "/c"}}}).Ack();
  world.After(1000).Ack();
  running.generation = {2};
  world.Step({running});
  ASSERT_TRUE(world.Reported(1));
  EXPECT_EQ(world.Reported(1)->generation, Generation{2});
  EXPECT_EQ(world.Reported(1)->phase, AttemptPhase::kRunning);
  ASSERT_TRUE(world.Reported(1)->checkpoint);
  EXPECT_EQ(world.Reported(1)->checkpoint->step, 5u);
}

TEST(Agent, ASingleNodeTaskNeedsNoRoundTrip) {
  World world;
  EXPECT_TRUE(world.Joined().Order({Wants(1)}).One<StartAttempt>().start.local_endpoint);
}

TEST(Agent, WhatChangesWhileAReportIsInFlightTravelsTogether) {
  World world;
  world.Joined().Order({Wants(1), Wants(2), Wants(3)}).Ack();
  world.Step({Is(1, AttemptPhase::kRunning)});
  uint64_t seq = world.report.seq;
  EXPECT_EQ(world.Step({Is(2, AttemptPhase::kRunning)}).Count<SendReport>(), 0u);
  world.Step({Is(3, AttemptPhase::kRunning)}).Step({Exited(3)});
  world.Step({OrdersReceived{NodeOrders{.ack = seq}}});
  EXPECT_EQ(world.report.attempts.size(), 2u);
  EXPECT_TRUE(world.Reported(3)->exit.has_value());
}

TEST(Agent, ReportsCarryOnlyWhatChanged) {
  World world;
  world.Joined().Order({Wants(1)}).Ack().Step({Is(1, AttemptPhase::kRunning)}).Ack();
  world.Step({RankSaid{.uid = U(1), .progress = Progress{.step = 5}}}).After(250);
  EXPECT_EQ(world.Reported(1)->progress->step, 5u);
  EXPECT_FALSE(world.Reported(1)->phase.has_value());
}

TEST(Agent, ProgressMergesAndTheLatestWins) {
  World world;
  world.Joined().Order({Wants(1)}).Ack().Step({Is(1, AttemptPhase::kRunning)}).Ack();
  world.Step({RankSaid{.uid = U(1), .progress = Progress{.step = 1}}}).Ack();
  for (uint64_t step = 2; step <= 9; ++step) {
    EXPECT_EQ(world.Step({RankSaid{.uid = U(1), .progress = Progress{.step = step}}}).Count<SendReport>(), 0u);
  }
  EXPECT_EQ(world.After(250).Reported(1)->progress->step, 9u);
}

TEST(Agent, TheLastProgressTravelsWithTheExit) {
  World world;
  world.Joined().Order({Wants(1)}).Ack().Step({Is(1, AttemptPhase::kRunning)}).Ack();
  world.Step({RankSaid{.uid = U(1), .progress = Progress{.step = 1}}}).Ack();
  RankSaid last{.uid = U(1), .progress = Progress{.step = 8}, .checkpoint = CheckpointNotice{8, "/c", 1}};
  world.Step({last, Exited(1, 75)});
  EXPECT_EQ(world.Reported(1)->progress->step, 8u);
  EXPECT_EQ(world.Reported(1)->checkpoint->step, 8u);
}

TEST(Agent, ACompleteListComesInPartsOfBoundedSize) {
  World world([](Agent::Options* o) { o->part_bytes = 4096; });
  std::vector<LauncherState> held;
  for (uint64_t n = 0; n < 100; ++n) held.push_back(Is(n, AttemptPhase::kRunning));
  world.Launcher(std::move(held)).Connected();
  EXPECT_TRUE(world.report.snapshot_begin && !world.report.snapshot_end);
  NodeReport first = world.report;
  world.Orders(NodeOrders{.welcome = Welcome{}});
  size_t total = 0, parts = 0;
  for (NodeReport part = first; parts < 50; part = world.Ack().report, ++parts) {
    size_t size = 0;
    for (const AttemptReport& entry : part.attempts) size += WireSize(entry);
    EXPECT_LE(size, 4096u);
    total += part.attempts.size();
    if (part.snapshot_end) break;
  }
  EXPECT_EQ(total, 100u);
  EXPECT_GT(parts, 1u);
}

TEST(Agent, AHugeExitRecordIsTrimmedAndKeepsTheFirstFailure) {
  ExitRecord record{.why = ExitWhy::kRankFailed, .first_failed = 700};
  for (uint32_t rank = 0; rank < 1024; ++rank)
    record.ranks.push_back(RankExit{.rank = rank, .code = 1, .tail = std::string(4096, 'x')});
  TrimExit(&record, 192 << 10);
  EXPECT_EQ(record.ranks.size(), 1024u);
  EXPECT_EQ(record.ranks[700].tail.size(), 4096u);
  EXPECT_LE(WireSize(AttemptReport{.exit = record}), (192u << 10) + 200);
}

TEST(Agent, LaunchDataOfPastJobsIsBounded) {
  World world([](Agent::Options* o) { o->launch_bytes = 4096; });
  world.Joined();
  for (uint64_t id = 10; id < 100 && !world.Count<Disconnect>(); ++id) world.Orders(NodeOrders{.jobs = {Job(id)}});
  EXPECT_EQ(world.Count<Disconnect>(), 1u);
  World dropping([](Agent::Options* o) { o->launch_bytes = 4096; });
  dropping.Joined();
  for (uint64_t id = 10; id < 100; ++id) dropping.Orders(NodeOrders{.jobs = {Job(id)}, .drop_jobs = {JobId{id}}});
  EXPECT_EQ(dropping.Count<Disconnect>(), 0u);
}

TEST(Agent, TenThousandAttemptsTakeReportsOfBoundedSizeAndOneInFlight) {
  World world;
  world.Joined();
  std::vector<AttemptOrder> orders;
  std::vector<Input> exits;
  for (uint64_t n = 0; n < 10000; ++n) orders.push_back(Wants(n)), exits.push_back(Exited(n));
  EXPECT_EQ(world.Order(std::move(orders)).Count<StartAttempt>(), 10000u);
  size_t told = 0;
  for (NodeReport part = world.Step(std::move(exits)).report; !part.attempts.empty(); part = world.Ack().report)
    told += part.attempts.size();
  EXPECT_EQ(told, 10000u);
}

}  // namespace
}  // namespace gt::worker
