#include "tests/support/world.h"

#include <gtest/gtest.h>

namespace gt::test {
namespace {


TEST(Lifecycle, ATaskRunsAndSucceeds) {
  World world;
  world.Join("a");
  JobId job = world.Submit(AJob());
  Uid uid = world.AttemptOf(job);
  Orders orders = world.TakeOrders("a");
  ASSERT_EQ(orders.attempts.size(), 1u);
  EXPECT_EQ(orders.jobs, std::vector<JobId>{job});
  EXPECT_TRUE(orders.attempts[0].local_endpoint);
  world.ReportPhase("a", uid, kRunning);
  EXPECT_EQ(world.TheAttempt(job).phase, kRunning);
  world.ReportExit("a", uid, Exited(0));
  EXPECT_EQ(world.StateOf(job), TaskState::kSucceeded);
  EXPECT_EQ(world.TakeOrders("a").forget, std::vector<Uid>{uid});
  EXPECT_TRUE(world.engine.state().jobs.empty());
}

TEST(Lifecycle, AGangStartsOnceRankZeroHasSaidWhereItListens) {
  World world;
  world.Join("a");
  world.Join("b");
  JobId job = world.Submit(AGang(2));
  Uid uid = world.AttemptOf(job);
  EXPECT_EQ(world.TakeOrders("b").attempts.at(0).master_port, 0);
  world.Report("a", {.uid = uid, .phase = kStarting, .endpoint_addr = "10.0.0.1", .endpoint_port = 4242});
  Orders b = world.TakeOrders("b");
  EXPECT_EQ(b.attempts.at(0).master_addr, "10.0.0.1");
  EXPECT_EQ(b.attempts.at(0).master_port, 4242);
  EXPECT_EQ(b.attempts.at(0).group_rank, 1u);
  EXPECT_TRUE(b.jobs.empty()) << "launch data travels once";
  world.ReportPhase("a", uid, kRunning);
  EXPECT_EQ(world.TheAttempt(job).phase, kStarting);
  world.ReportPhase("b", uid, kRunning);
  EXPECT_EQ(world.TheAttempt(job).phase, kRunning);
}

TEST(Lifecycle, OnlyRankZerosNodeNamesTheAddress) {
  World world;
  world.Join("a");
  world.Join("b");
  JobId job = world.Submit(AGang(2));
  world.Report("b", {.uid = world.AttemptOf(job), .phase = kStarting, .endpoint_addr = "10.0.0.9", .endpoint_port = 1});
  EXPECT_EQ(world.TheAttempt(job).rendezvous.state, RendezvousState::kForming);
}

TEST(Lifecycle, TheFirstFailureStopsTheGangAndIsTheCause) {
  World world;
  world.Join("a");
  world.Join("b");
  JobId job = world.Submit(AGang(2));
  Uid uid = world.AttemptOf(job);
  world.ReportPhase("a", uid, kRunning);
  world.ReportPhase("b", uid, kRunning);
  world.TakeOrders("a");
  ExitReport exit = Exited(3);
  exit.message = "cannot open /data";
  exit.first_failed = 1;
  world.ReportExit("b", uid, exit);
  Orders a = world.TakeOrders("a");
  ASSERT_TRUE(a.attempts.at(0).stop);
  EXPECT_EQ(a.attempts.at(0).grace, 300);
  EXPECT_EQ(world.StateOf(job), TaskState::kActive);
  world.ReportExit("a", uid, Killed(15));
  EXPECT_EQ(world.StateOf(job), TaskState::kFailed);
  EXPECT_EQ(world.Finished(job).cause, Cause::kExitNonzero);
  EXPECT_EQ(world.Finished(job).message, "rank 1 on node b exited with code 3: cannot open /data");
  EXPECT_EQ(world.Finished(job).exit_code, 3) << "not that of a rank that was stopped for it";
}

TEST(Lifecycle, AUserFailureIsRetriedWithinItsBudgetElsewhereIfPossible) {
  World world;
  world.Join("a", 1);
  world.Join("b", 2);
  Job draft = AJob();
  draft.retry.user = 1;
  JobId job = world.Submit(draft);
  EXPECT_EQ(world.Where(job), "a");
  world.ReportExit("a", world.AttemptOf(job), Exited(1));
  EXPECT_EQ(world.StateOf(job), TaskState::kQueued);
  EXPECT_NE(world.Why(job).find("attempt 1 ended with EXIT_NONZERO; the next starts in 1s"), std::string::npos) << world.Why(job);
  world.AdvanceBeating(kSecond, {"a", "b"});
  EXPECT_EQ(world.Where(job), "b") << "not where it failed";
  EXPECT_EQ(world.TheAttempt(job).number, 2u);
  world.ReportExit("b", world.AttemptOf(job), Exited(1));
  EXPECT_EQ(world.StateOf(job), TaskState::kFailed);
}

TEST(Lifecycle, InfraFailuresHaveABudgetOfTheirOwnAndBackOff) {
  World world;
  world.Join("a");
  Job draft = AJob();
  draft.retry = {.user = 0, .infra = 2};
  JobId job = world.Submit(draft);
  ExitReport exit;
  exit.why = ExitReport::Why::kLaunchFailed;
  for (Millis wait : {1000, 2000}) {
    world.ReportExit("a", world.AttemptOf(job), exit);
    world.AdvanceBeating(wait - 1, {"a"});
    EXPECT_EQ(world.StateOf(job), TaskState::kQueued);
    world.AdvanceBeating(1, {"a"});
    EXPECT_EQ(world.StateOf(job), TaskState::kActive);
  }
  world.ReportExit("a", world.AttemptOf(job), exit);
  EXPECT_EQ(world.StateOf(job), TaskState::kFailed);
  EXPECT_EQ(world.Finished(job).cause, Cause::kLaunchFailed);
}

TEST(Lifecycle, Exit75IsFreeOnlyWhenItGotFurther) {
  World world;
  world.Join("a");
  JobId job = world.Submit(AJob());
  Uid uid = world.AttemptOf(job);
  world.Report("a", {.uid = uid, .phase = kRunning, .progress = Progress{.step = 10}, .checkpoint = "/c/10", .checkpoint_step = 10});
  world.ReportExit("a", uid, Exited(75));
  EXPECT_EQ(world.StateOf(job), TaskState::kQueued);
  world.AdvanceBeating(2 * kSecond, {"a"});
  EXPECT_EQ(world.TheAttempt(job).resume_from, "/c/10");
  world.ReportExit("a", world.AttemptOf(job), Exited(75));
  EXPECT_EQ(world.StateOf(job), TaskState::kFailed) << "no step was made";
}

TEST(Lifecycle, ATimeLimitIsFinal) {
  World world;
  world.Join("a");
  Job draft = AJob();
  draft.retry = {.user = 9, .infra = 9};
  JobId job = world.Submit(draft);
  ExitReport exit;
  exit.why = ExitReport::Why::kTimeLimit;
  world.ReportExit("a", world.AttemptOf(job), exit);
  EXPECT_EQ(world.Finished(job).cause, Cause::kTimeLimit);
}

TEST(Lifecycle, WhatNeverStartsIsGivenUpAndNamed) {
  World world;
  world.Join("a");
  Job draft = AJob();
  draft.retry.infra = 0;
  JobId job = world.Submit(draft);
  world.AdvanceBeating(world.policy.start_timeout, {"a"});
  EXPECT_TRUE(world.TakeOrders("a").attempts.at(0).stop);
  world.Report("a", {.uid = world.AttemptOf(job), .unknown = true});
  EXPECT_EQ(world.Finished(job).cause, Cause::kLaunchFailed);
  EXPECT_EQ(world.Finished(job).message, "did not start in time on a");
}

TEST(Lifecycle, TheSameClientKeyIsTheSameJob) {
  World world;
  Job draft = AJob();
  draft.client_key = "mine";
  SubmitReply first = world.TrySubmit(draft), second = world.TrySubmit(draft);
  EXPECT_EQ(first.job, second.job);
  EXPECT_FALSE(first.duplicate);
  EXPECT_TRUE(second.duplicate);
}

TEST(Lifecycle, AnArrayIsFailedWhenATaskIs) {
  World world;
  world.Join("a");
  JobId job = world.Submit(AnArray(0, 2));
  world.ReportExit("a", world.AttemptOf(job, 1), Exited(5));
  world.ReportExit("a", world.AttemptOf(job, 0), Exited(0));
  world.ReportExit("a", world.AttemptOf(job, 2), Exited(0));
  EXPECT_EQ(world.StateOf(job), TaskState::kFailed);
  EXPECT_EQ(world.Finished(job).exit_code, 5);
  EXPECT_EQ(world.Finished(job).cause, Cause::kExitNonzero);
}

TEST(Lifecycle, ADryRunChangesNothing) {
  World world;
  Job draft = AJob();
  draft.client_key = "dry";
  Batch batch = world.Turn({SubmitJob{.draft = draft, .dry_run = true}});
  EXPECT_TRUE(batch.events.empty());
  EXPECT_TRUE(world.engine.state().jobs.empty());
}

TEST(Lifecycle, AMemberThatIsDoneBeforeTheOthersRunStartsTheSkew) {
  World world;
  world.Join("a");
  world.Join("b");
  JobId job = world.Submit(AGang(2));
  Uid uid = world.AttemptOf(job);
  world.ReportPhase("a", uid, AttemptPhase::kRunning);
  world.ReportExit("a", uid, Exited(0));
  world.ReportPhase("b", uid, AttemptPhase::kRunning);
  EXPECT_EQ(world.TheAttempt(job).phase, AttemptPhase::kRunning);
  world.AdvanceBeating(world.policy.exit_skew + kSecond, {"a", "b"});
  EXPECT_EQ(world.TheAttempt(job).stop_cause, Cause::kHung);
}

// Reports merge: the last that comes of a short rank may be its end alone.
TEST(Lifecycle, AMemberThatIsDoneDidRun) {
  World world;
  world.Join("a");
  world.Join("b");
  JobId job = world.Submit(AGang(2));
  Uid uid = world.AttemptOf(job);
  world.ReportPhase("b", uid, AttemptPhase::kRunning);
  world.ReportExit("a", uid, Exited(0));
  EXPECT_EQ(world.TheAttempt(job).phase, AttemptPhase::kRunning);
  world.AdvanceBeating(world.policy.start_timeout + kSecond, {"a", "b"});
  EXPECT_EQ(world.TheAttempt(job).phase, AttemptPhase::kRunning) << "it did start in time";
}

}  // namespace
}  // namespace gt::test
