#include "tests/support/world.h"

#include <gtest/gtest.h>

namespace gt::test {
namespace {

TEST(Cancel, AQueuedJobIsCancelledAtOnce) {
  World world;
  JobId job = world.Submit(AJob());
  EXPECT_EQ(world.Cancel(job), CancelReply::Outcome::kAccepted);
  EXPECT_EQ(world.StateOf(job), TaskState::kCancelled);
  EXPECT_EQ(world.Cancel(job), CancelReply::Outcome::kNotLive);
}

TEST(Cancel, ARunningJobIsCancelledOnlyWhenItsNodesHaveConfirmed) {
  World world;
  world.Join("a");
  world.Join("b");
  JobId job = world.Submit(AGang(2));
  Uid uid = world.AttemptOf(job);
  world.ReportPhase("a", uid, AttemptPhase::kRunning);
  world.ReportPhase("b", uid, AttemptPhase::kRunning);
  world.Cancel(job);
  Orders orders = world.TakeOrders("a");
  EXPECT_TRUE(orders.attempts.at(0).stop);
  EXPECT_EQ(orders.attempts.at(0).grace, 30 * kSecond);
  world.ReportExit("a", uid, Killed(15));
  EXPECT_EQ(world.StateOf(job), TaskState::kActive);
  world.ReportExit("b", uid, Killed(9));
  EXPECT_EQ(world.StateOf(job), TaskState::kCancelled);
  EXPECT_EQ(world.Finished(job).cause, Cause::kCancelled);
}

TEST(Cancel, ARankThatFailsAfterTheCancelDoesNotShortenTheGraceOfTheOthers) {
  World world;
  world.Join("a");
  world.Join("b");
  JobId job = world.Submit(AGang(2));
  world.Cancel(job);
  world.TakeOrders("b");
  world.ReportExit("a", world.AttemptOf(job), Exited(1));
  EXPECT_TRUE(world.TakeOrders("b").attempts.empty());
}

TEST(Cancel, AnAttemptThatTheNodeNeverSawIsGoneOnceItSaysSo) {
  World world;
  world.Join("a");
  JobId job = world.Submit(AJob());
  world.Cancel(job);
  world.Report("a", {.uid = world.AttemptOf(job), .unknown = true});
  EXPECT_EQ(world.StateOf(job), TaskState::kCancelled);
}

TEST(Cancel, ABackingOffRetryIsCancelledAtOnce) {
  World world;
  world.Join("a");
  Job draft = AJob();
  draft.retry.user = 5;
  JobId job = world.Submit(draft);
  world.ReportExit("a", world.AttemptOf(job), Exited(1));
  world.Cancel(job);
  EXPECT_EQ(world.StateOf(job), TaskState::kCancelled);
}

TEST(Cancel, AFailingJobThatIsCancelledIsNotRetried) {
  World world;
  world.Join("a");
  world.Join("b");
  Job draft = AGang(2);
  draft.retry.user = 5;
  JobId job = world.Submit(draft);
  Uid uid = world.AttemptOf(job);
  world.ReportExit("a", uid, Exited(1));
  world.Cancel(job);
  world.ReportExit("b", uid, Killed(9));
  EXPECT_EQ(world.StateOf(job), TaskState::kCancelled);
}

TEST(Cancel, ALargeArrayIsSweptInBoundedParts) {
  Policy policy;
  policy.sweep_batch = 100;
  World world(policy);
  JobId job = world.Submit(AnArray(0, 999));
  EXPECT_EQ(world.Cancel(job), CancelReply::Outcome::kAccepted);
  EXPECT_EQ(world.StateOf(job), TaskState::kQueued);
  int turns = 0;
  while (!world.finished.contains(job) && turns < 100) {
    world.Turn();
    ++turns;
  }
  EXPECT_EQ(turns, 10);
  EXPECT_EQ(world.Finished(job).counts.cancelled, 1000u);
}

TEST(Cancel, OneTaskOfAnArrayLeavesTheOthers) {
  World world;
  world.Join("a");
  JobId job = world.Submit(AnArray(0, 1));
  world.Cancel(job, 0);
  EXPECT_EQ(world.TheAttempt(job, 0).phase, AttemptPhase::kStopping);
  EXPECT_EQ(world.TheAttempt(job, 1).phase, AttemptPhase::kPlaced);
  world.ReportExit("a", world.AttemptOf(job, 0), Killed(15));
  EXPECT_EQ(world.engine.state().FindJob(job)->counts, (TaskCounts{.active = 1, .cancelled = 1}));
}

TEST(Cancel, OneTaskThatWaitsForItsTurnIsPassedOver) {
  World world;
  JobId job = world.Submit(AnArray(0, 4));
  for (uint32_t index : {0u, 2u, 3u}) EXPECT_EQ(world.Cancel(job, index), CancelReply::Outcome::kAccepted);
  EXPECT_EQ(world.Cancel(job, 2), CancelReply::Outcome::kNotLive);
  world.Join("a", 1);
  EXPECT_EQ(world.Where(job, 1), "a");
  world.ReportExit("a", world.AttemptOf(job, 1), Exited(0));
  EXPECT_EQ(world.Where(job, 4), "a");
  world.ReportExit("a", world.AttemptOf(job, 4), Exited(0));
  EXPECT_EQ(world.Finished(job).counts, (TaskCounts{.succeeded = 2, .cancelled = 3}));
}

TEST(Cancel, ASweepCountsWhatWasCancelledBeforeOnlyOnce) {
  World world;
  JobId job = world.Submit(AnArray(0, 9));
  world.Cancel(job, 5);
  world.Cancel(job, 9);
  world.Cancel(job);
  EXPECT_EQ(world.Finished(job).counts.cancelled, 10u);
}

TEST(Cancel, ProcessesThatWillNotDieKeepOnlyTheirOwnResourcesAndReturnThem) {
  World world;
  world.Join("a", 4);
  JobId job = world.Submit(AJob());
  Uid uid = world.AttemptOf(job);
  world.ReportPhase("a", uid, AttemptPhase::kRunning);
  world.Cancel(job);
  world.AdvanceBeating(60 * kSecond, {"a"});
  EXPECT_EQ(world.StateOf(job), TaskState::kCancelled);
  EXPECT_EQ(world.Finished(job).message, "cancelled; processes of it still live on a");
  EXPECT_EQ(world.TheNode("a").cpus_free, 3);
  EXPECT_EQ(world.Where(world.Submit(AJob())), "a") << "the rest of the node works on";
  world.ReportExit("a", uid, Killed(9));
  EXPECT_EQ(world.TheNode("a").cpus_free, 3);
}

TEST(Cancel, ARebootEndsProcessesThatOutlivedTheirJob) {
  World world;
  world.Join("a", 4);
  JobId job = world.Submit(AJob());
  world.ReportPhase("a", world.AttemptOf(job), AttemptPhase::kRunning);
  world.Cancel(job);
  world.AdvanceBeating(60 * kSecond, {"a"});
  EXPECT_EQ(world.StateOf(job), TaskState::kCancelled);
  world.Join("a", 4, {}, {}, "boot-2");
  EXPECT_EQ(world.TheNode("a").cpus_free, 4);
}

}  // namespace
}  // namespace gt::test
