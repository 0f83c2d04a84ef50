#include "tests/support/world.h"

#include <gtest/gtest.h>

namespace gt::test {
namespace {


JobId RunningGang(World& world) {
  JobId job = world.Submit(AGang(2));
  for (const char* name : {"a", "b"}) world.ReportPhase(name, world.AttemptOf(job), kRunning);
  EXPECT_EQ(world.TheAttempt(job).phase, kRunning);
  return job;
}

TEST(Nodes, ASilentNodeIsLostAfterItsLeaseAndItsGangStartsElsewhere) {
  World world;
  world.Join("a");
  world.Join("b");
  JobId job = RunningGang(world);
  world.Join("c");
  world.AdvanceBeating(29 * kSecond, {"a", "c"});
  EXPECT_EQ(world.TheNode("b").state, NodeState::kUp);
  world.AdvanceBeating(2 * kSecond, {"a", "c"});
  EXPECT_EQ(world.TheNode("b").state, NodeState::kLost);
  EXPECT_TRUE(world.TakeOrders("a").attempts.at(0).stop);
  world.ReportExit("a", world.AttemptOf(job), Killed(9));
  world.AdvanceBeating(2 * kSecond, {"a", "c"});
  EXPECT_EQ(world.Where(job), "a c");
  EXPECT_EQ(world.TheAttempt(job).number, 2u);
}

TEST(Nodes, ATaskWithStopAfterStartsElsewhereOnlyWhenItsRanksHaveEndedByThemselves) {
  World world;
  world.Join("a");
  Job draft = AJob();
  draft.stop_after = 40 * kSecond;
  draft.grace = 5 * kSecond;
  JobId job = world.Submit(draft);
  world.ReportPhase("a", world.AttemptOf(job), kRunning);
  world.Join("b");
  world.AdvanceBeating(31 * kSecond, {"b"});
  EXPECT_EQ(world.TheNode("a").state, NodeState::kLost);
  world.AdvanceBeating(23 * kSecond, {"b"});
  EXPECT_EQ(world.Where(job), "") << "40 s + 5 s + 10 s after a's last beat";
  world.AdvanceBeating(4 * kSecond, {"b"});
  EXPECT_EQ(world.Where(job), "b");
}

// A worker that was stopped for a while wakes up on a stream that still works: it must not believe that it is still in.
TEST(Nodes, TheStreamOfALostNodeIsCut) {
  World world;
  world.Join("a");
  world.Join("b");
  std::optional<uint64_t> session = world.engine.sessions().SessionOf(world.TheNode("a").id);
  world.AdvanceBeating(29 * kSecond, {"b"});
  EXPECT_TRUE(world.engine.sessions().TakeEnded().empty());
  world.AdvanceBeating(2 * kSecond, {"b"});
  EXPECT_EQ(world.TheNode("a").state, NodeState::kLost);
  EXPECT_EQ(world.engine.sessions().TakeEnded(), std::vector<uint64_t>{*session});
}

TEST(Nodes, ADeadNodeIsBlamedThoughTheSurvivorFailsFirst) {
  World world;
  world.Join("a");
  world.Join("b");
  JobId job = RunningGang(world);
  world.AdvanceBeating(4 * kSecond, {"a"});  // b died, the survivor's collective breaks
  world.ReportExit("a", world.AttemptOf(job), Exited(1));
  EXPECT_EQ(world.StateOf(job), TaskState::kActive) << "b may yet confirm";
  world.AdvanceBeating(4 * kSecond, {"a"});
  EXPECT_EQ(world.StateOf(job), TaskState::kQueued) << "silent past SUSPECT, and nothing new goes there";
  const Task& task = *world.engine.state().FindTask({job, 0});
  EXPECT_EQ(task.cause, Cause::kNodeLost);
  EXPECT_EQ(task.user_failures, 0);
  EXPECT_EQ(task.infra_failures_wall.size(), 1u);
}

TEST(Nodes, AReconnectWithinTheLeaseIsAdoptedAndChargesNothing) {
  World world;
  world.Join("a");
  JobId job = world.Submit(AJob());
  Uid uid = world.AttemptOf(job);
  world.ReportPhase("a", uid, kRunning);
  world.Disconnect("a");
  world.Advance(20 * kSecond);
  world.Join("a", 8, {}, {uid});
  EXPECT_EQ(world.AttemptOf(job), uid);
  EXPECT_EQ(world.TheAttempt(job).phase, kRunning);
}

TEST(Nodes, NothingIsPlacedOnANodeThatIsAwayOrHasNotToldWhatItHolds) {
  World world;
  world.Join("a");
  world.Disconnect("a");
  JobId job = world.Submit(AJob());
  EXPECT_EQ(world.Where(job), "");
  world.Hello("a", {.cpus = 8, .memory = 1 << 30});
  EXPECT_EQ(world.Where(job), "");
  world.Snapshot("a", {});
  EXPECT_EQ(world.Where(job), "a");
}

TEST(Nodes, ARebootedNodeHasLostItsAttempts) {
  World world;
  world.Join("a");
  JobId job = world.Submit(AJob());
  world.ReportPhase("a", world.AttemptOf(job), kRunning);
  world.Join("a", 8, {}, {}, "boot-2");
  EXPECT_EQ(world.StateOf(job), TaskState::kQueued);
  EXPECT_EQ(world.engine.state().FindTask({job, 0})->message, "node a was rebooted");
}

TEST(Nodes, ASnapshotWithoutAStartedAttemptMeansThatTheNodeLostIt) {
  World world;
  world.Join("a");
  JobId job = world.Submit(AJob());
  world.ReportPhase("a", world.AttemptOf(job), kRunning);
  world.Join("a");
  EXPECT_EQ(world.engine.state().FindTask({job, 0})->cause, Cause::kNodeLost);
}

TEST(Nodes, ASnapshotWithoutAnAttemptThatWasOnlyPlacedGetsTheOrderAgain) {
  World world;
  world.Join("a");
  JobId job = world.Submit(AJob());
  world.TakeOrders("a");
  world.Join("a");
  Orders orders = world.TakeOrders("a");
  ASSERT_EQ(orders.attempts.size(), 1u);
  EXPECT_EQ(orders.attempts[0].uid, world.AttemptOf(job));
  EXPECT_FALSE(orders.attempts[0].stop);
}

TEST(Nodes, AReturningNodeIsToldToStopOldWorkAndIsUsableWhenItIsGone) {
  World world;
  world.Join("a");
  JobId job = world.Submit(AJob());
  Uid old = world.AttemptOf(job);
  world.ReportPhase("a", old, kRunning);
  for (int i = 0; i < 20; ++i) world.Advance(2 * kSecond);
  EXPECT_EQ(world.TheNode("a").state, NodeState::kLost);
  world.Join("a", 8, {}, {old});
  Orders orders = world.TakeOrders("a");
  ASSERT_EQ(orders.attempts.size(), 1u);
  EXPECT_TRUE(orders.attempts[0].stop);
  EXPECT_EQ(world.Where(job), "") << "the old copy still holds the node";
  world.ReportExit("a", old, Killed(9));
  EXPECT_EQ(world.TakeOrders("a").forget, std::vector<Uid>{old});
  EXPECT_EQ(world.Where(job), "a");
  EXPECT_NE(world.AttemptOf(job), old);
}

TEST(Nodes, WhatAStaleCopySaysChangesNothing) {
  World world;
  world.Join("a");
  JobId job = world.Submit(AJob());
  Uid old = world.AttemptOf(job);
  world.ReportPhase("a", old, kRunning);
  for (int i = 0; i < 20; ++i) world.Advance(2 * kSecond);
  world.Join("b");
  world.AdvanceBeating(2 * kSecond, {"b"});
  Uid current = world.AttemptOf(job);
  world.Join("a", 8, {}, {old});
  world.Report("a", {.uid = old, .phase = kRunning, .progress = Progress{.step = 999}, .checkpoint = "/stale", .checkpoint_step = 999});
  world.ReportExit("a", old, Exited(0));
  EXPECT_EQ(world.AttemptOf(job), current);
  EXPECT_EQ(world.engine.state().FindTask({job, 0})->checkpoint, "");
  EXPECT_EQ(world.TheAttempt(job).progress.step, 0u);
}

TEST(Nodes, WhenMostNodesVanishAtOnceTheVerdictWaitsWithABound) {
  World world;
  for (const char* name : {"a", "b", "c", "d"}) world.Join(name);
  world.AdvanceBeating(60 * kSecond, {"d"});
  EXPECT_EQ(world.TheNode("a").state, NodeState::kUp);
  world.AdvanceBeating(world.policy.mass_loss_hold, {"d"});
  EXPECT_EQ(world.TheNode("a").state, NodeState::kLost);
  EXPECT_EQ(world.TheNode("d").state, NodeState::kUp);
}

TEST(Nodes, AGapOfTheCoordinatorIsNotCountedAgainstNodes) {
  World world;
  world.Join("a");
  world.AdvanceBeating(10 * kSecond, {"a"});
  world.Advance(10 * kMinute);
  EXPECT_EQ(world.TheNode("a").state, NodeState::kUp);
  world.AdvanceBeating(20 * kSecond, {});
  EXPECT_EQ(world.TheNode("a").state, NodeState::kUp);
  world.AdvanceBeating(12 * kSecond, {});
  EXPECT_EQ(world.TheNode("a").state, NodeState::kLost);
}

TEST(Nodes, AWallClockThatJumpsChangesNoVerdict) {
  World world;
  world.Join("a");
  for (Millis jump : {2 * 365 * 24 * kHour, -4 * 365 * 24 * kHour, kHour}) {
    world.now.wall += jump;
    world.AdvanceBeating(4 * kSecond, {"a"});
  }
  EXPECT_EQ(world.TheNode("a").state, NodeState::kUp);
}

TEST(Nodes, AWorkerOfAnotherClusterOrALaterEpochIsRefused) {
  World world;
  Batch batch = world.Turn({NodeHello{.session = 99, .name = "x", .uid = {1, 1}, .cluster_id = "other"}});
  EXPECT_NE(std::get<HelloReply>(batch.replies[0]).refused, "");
  batch = world.Turn({NodeHello{.session = 99, .name = "x", .uid = {1, 1}, .cluster_id = "test", .last_epoch = {7}}});
  EXPECT_NE(std::get<HelloReply>(batch.replies[0]).refused.find("old copy"), std::string::npos);
  EXPECT_TRUE(world.engine.state().nodes.empty());
}

TEST(Restart, EverythingLiveGoesOnAndTheLeaseIsFresh) {
  World world;
  world.Join("a");
  world.Join("b");
  JobId gang = RunningGang(world), queued = world.Submit(AGang(2));
  Uid uid = world.AttemptOf(gang);
  world.Restart();
  world.Advance(20 * kSecond);
  world.Join("a", 8, {}, {uid});
  world.Join("b", 8, {}, {uid});
  EXPECT_EQ(world.AttemptOf(gang), uid);
  EXPECT_EQ(world.TheAttempt(gang).phase, kRunning);
  EXPECT_EQ(world.Where(queued), "a b");
}

TEST(Restart, PlacementWaitsForTheNodesThatWereUpButNotForEver) {
  World world;
  world.Join("a", 1);
  world.Join("b", 64);
  world.Restart();
  JobId job = world.Submit([] { Job j = AJob(); j.shape.cpus = 1; return j; }());
  world.Join("b", 64);
  EXPECT_EQ(world.Where(job), "") << "a would be the better fit";
  EXPECT_NE(world.Why(job).find("has just started"), std::string::npos);
  world.Advance(world.policy.placement_wait);
  EXPECT_EQ(world.Where(job), "b");
}

TEST(Restart, ACancelInFlightIsSentAgainUntilConfirmed) {
  World world;
  world.Join("a");
  JobId job = world.Submit(AJob());
  Uid uid = world.AttemptOf(job);
  world.ReportPhase("a", uid, kRunning);
  world.Cancel(job);
  world.Restart();
  world.Join("a", 8, {}, {uid});
  Orders orders = world.TakeOrders("a");
  ASSERT_EQ(orders.attempts.size(), 1u);
  EXPECT_TRUE(orders.attempts[0].stop);
  world.ReportExit("a", uid, Killed(15));
  EXPECT_EQ(world.StateOf(job), TaskState::kCancelled);
}

}  // namespace
}  // namespace gt::test
