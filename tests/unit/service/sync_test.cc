// Workers that only pretend, against the real coordinator.
#include <gtest/gtest.h>

#include <thread>

#include "tests/support/cluster.h"
#include "tests/support/fake_worker.h"

namespace gt::test {
namespace {

class SyncTest : public testing::Test {
 protected:
  void SetUp() override {
    Status started = coordinator_.Start({"--set", "beat=500ms", "--set", "node_lost_after=3s"});
    ASSERT_TRUE(started.ok()) << started.message();
  }
  JobsClient Client() { return JobsClient(coordinator_.access()); }
  std::unique_ptr<FakeWorker> Join(FakeWorkerOptions options) {
    auto worker = std::make_unique<FakeWorker>(coordinator_.access(), std::move(options));
    auto welcome = worker->Welcomed();
    EXPECT_TRUE(welcome.has_value());
    return worker;
  }
  wire::JobSummary Final(uint64_t job) {
    auto seen = Client().Watch(job);
    EXPECT_TRUE(seen.ok()) << seen.status.error_message();
    return seen->empty() ? wire::JobSummary() : seen->back();
  }

  CoordinatorProcess coordinator_{GT_COORDINATOR};
};

TEST_F(SyncTest, AWelcomedNodeIsListedAndGone) {
  auto worker = Join({});
  auto nodes = Client().Nodes();
  ASSERT_EQ(nodes->nodes_size(), 1);
  EXPECT_EQ(nodes->nodes(0).name(), "node-a");
  EXPECT_EQ(nodes->nodes(0).state(), "UP");
  EXPECT_TRUE(nodes->nodes(0).schedulable());
  EXPECT_EQ(nodes->nodes(0).cpus_free(), 8);
}

TEST_F(SyncTest, RunsAJobFromSubmitToItsEnd) {
  auto worker = Join({.finish_at_once = false});
  uint64_t job = Client().SubmitTrue("a")->jobs(0).job_id();
  auto order = worker->TakeRun();
  ASSERT_TRUE(order.has_value());
  EXPECT_EQ(order->job_id(), job);
  EXPECT_EQ(order->number(), 1u);
  EXPECT_TRUE(order->local_endpoint());
  EXPECT_EQ(worker->LaunchOf(job), "/bin/true");
  worker->ReportPhase(*order, wire::PHASE_RUNNING);
  worker->ReportProgress(*order, 5);
  wire::JobDetail detail;
  for (int i = 0; i < 500 && detail.summary().progress().step() != 5; i++) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    detail = Client().Get(job).value;
  }
  EXPECT_EQ(detail.summary().phase(), wire::PHASE_RUNNING);
  EXPECT_EQ(detail.summary().progress().step(), 5u);
  ASSERT_EQ(detail.summary().node_names_size(), 1);
  EXPECT_EQ(detail.summary().node_names(0), "node-a");
  worker->ReportExit(*order, 0);
  EXPECT_EQ(Final(job).state(), wire::TASK_SUCCEEDED);
  EXPECT_TRUE(worker->WaitForget(order->uid()));
  EXPECT_EQ(Client().Nodes()->nodes(0).cpus_free(), 8);
}

TEST_F(SyncTest, AFailureIsToldWithItsLastLines) {
  auto worker = Join({.finish_at_once = false});
  uint64_t job = Client().SubmitTrue("a")->jobs(0).job_id();
  auto order = worker->TakeRun();
  ASSERT_TRUE(order.has_value());
  worker->ReportPhase(*order, wire::PHASE_RUNNING);
  worker->ReportExit(*order, 3, "first\nboom\n");
  wire::JobSummary summary = Final(job);
  EXPECT_EQ(summary.state(), wire::TASK_FAILED);
  EXPECT_EQ(summary.cause(), wire::CAUSE_EXIT_NONZERO);
  EXPECT_EQ(summary.exit_code(), 3);
  auto detail = Client().Get(job);
  ASSERT_EQ(detail->tasks_size(), 1);
  ASSERT_EQ(detail->tasks(0).attempts_size(), 1);
  const wire::AttemptDetail& attempt = detail->tasks(0).attempts(0);
  EXPECT_EQ(attempt.first_failure().code(), 3);
  EXPECT_EQ(attempt.first_failure().node(), "node-a");
  ASSERT_EQ(attempt.first_failure().last_lines_size(), 2);
  EXPECT_EQ(attempt.first_failure().last_lines(1), "boom");
  EXPECT_EQ(attempt.members(0).ranks(0).code(), 3);
}

TEST_F(SyncTest, CancellingARunningJobStopsItOnItsNode) {
  auto worker = Join({.finish_at_once = false});
  uint64_t job = Client().SubmitTrue("a")->jobs(0).job_id();
  auto order = worker->TakeRun();
  ASSERT_TRUE(order.has_value());
  worker->ReportPhase(*order, wire::PHASE_RUNNING);
  ASSERT_EQ(Client().Cancel(job)->results(0).outcome(), wire::CancelResponse::One::ACCEPTED);
  auto stop = worker->TakeStop();
  ASSERT_TRUE(stop.has_value());
  EXPECT_EQ(stop->uid().low(), order->uid().low());
  EXPECT_EQ(stop->grace_ms(), 30'000);
  EXPECT_EQ(stop->why(), wire::CAUSE_CANCELLED);
  worker->ReportExit(*order, 143);
  EXPECT_EQ(Final(job).state(), wire::TASK_CANCELLED);
}

TEST_F(SyncTest, AnArrayRunsToItsEnd) {
  auto worker = Join({});
  uint64_t job = Client().SubmitTrue("a", "0-499")->jobs(0).job_id();
  wire::JobSummary summary = Final(job);
  EXPECT_EQ(summary.state(), wire::TASK_SUCCEEDED);
  EXPECT_EQ(summary.succeeded(), 500u);
}

TEST_F(SyncTest, RequestsThatNoNodeCouldMeetAreRefused) {
  auto worker = Join({});
  wire::SubmitRequest request = TrueJob("big");
  request.mutable_jobs(0)->mutable_spec()->mutable_resources()->set_cpus_per_process(64);
  auto answer = Client().Submit(request);
  ASSERT_TRUE(answer.ok());
  ASSERT_EQ(answer->jobs(0).problems_size(), 1);
  EXPECT_NE(answer->jobs(0).problems(0).find("8"), std::string::npos) << answer->jobs(0).problems(0);
  *request.add_jobs() = TrueJob("fine").jobs(0);
  EXPECT_EQ(Client().Submit(request)->jobs(0).problems_size(), 1);
  EXPECT_EQ(Client().List(true)->jobs_size(), 0);
}

TEST_F(SyncTest, ANewcomerWithATakenNameIsRefusedWhileTheOldOneAnswers) {
  auto first = Join({});
  FakeWorker second(coordinator_.access(), {.node_uid = {9, 9}});
  auto welcome = second.Welcomed();
  ASSERT_TRUE(welcome.has_value());
  EXPECT_NE(welcome->refused().find("node-a"), std::string::npos);
  EXPECT_FALSE(welcome->try_again());
  EXPECT_TRUE(second.WaitEnd().ok());
}

TEST_F(SyncTest, ANewcomerTakesOverFromAStreamThatDoesNotAnswer) {
  auto first = Join({.answer_pings = false});
  FakeWorker second(coordinator_.access(), {.node_uid = {9, 9}});
  auto welcome = second.Welcomed();
  ASSERT_TRUE(welcome.has_value());
  EXPECT_EQ(welcome->refused(), "");
  EXPECT_FALSE(first->WaitEnd().ok());
}

TEST_F(SyncTest, TheSameNodeAfterARebootIsWelcomeAtOnce) {
  auto first = Join({});
  auto begin = std::chrono::steady_clock::now();
  FakeWorker second(coordinator_.access(), {.boot_id = "boot-2"});  // the same data directory
  auto welcome = second.Welcomed();
  ASSERT_TRUE(welcome.has_value());
  EXPECT_EQ(welcome->refused(), "");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(900));
}

TEST_F(SyncTest, AWorkerOfAnotherClusterIsRefusedForGood) {
  Access access = coordinator_.access();
  access.cluster_id = "another";
  FakeWorker worker(access, {});
  auto welcome = worker.Welcomed();
  ASSERT_TRUE(welcome.has_value());
  EXPECT_NE(welcome->refused().find("another"), std::string::npos);
  EXPECT_FALSE(welcome->try_again());
}

TEST_F(SyncTest, ASilentNodeIsLostAndItsTaskStartsElsewhere) {
  auto silent = Join({.name = "silent", .finish_at_once = false, .beats = false});
  uint64_t job = Client().SubmitTrue("a")->jobs(0).job_id();
  auto order = silent->TakeRun();
  ASSERT_TRUE(order.has_value());
  silent->ReportPhase(*order, wire::PHASE_RUNNING);
  auto other = Join({.name = "other"});
  EXPECT_EQ(Final(job).state(), wire::TASK_SUCCEEDED);
  EXPECT_EQ(Client().Get(job)->tasks(0).attempts_size(), 2);
}

TEST_F(SyncTest, ARestartOfTheCoordinatorFindsTheRunningAttemptAgain) {
  auto worker = Join({.finish_at_once = false});
  uint64_t job = Client().SubmitTrue("a")->jobs(0).job_id();
  auto order = worker->TakeRun();
  ASSERT_TRUE(order.has_value());
  worker->ReportPhase(*order, wire::PHASE_RUNNING);
  coordinator_.Kill();
  EXPECT_FALSE(worker->WaitEnd().ok());
  ASSERT_TRUE(coordinator_.Start().ok());
  EXPECT_EQ(Client().Get(job)->summary().state(), wire::TASK_ACTIVE);
}

TEST_F(SyncTest, DrainingTakesNoNewWork) {
  auto worker = Join({});
  grpc::ClientContext context;
  JobsClient client = Client();
  client.Prepare(&context);
  wire::DrainNodeRequest request;
  request.set_node("node-a");
  request.set_drain(true);
  request.set_reason("maintenance");
  wire::DrainNodeResponse response;
  ASSERT_TRUE(client.stub()->DrainNode(&context, request, &response).ok());
  EXPECT_TRUE(response.node().draining());
  EXPECT_EQ(response.node().drain_reason(), "maintenance");
  uint64_t job = client.SubmitTrue("a")->jobs(0).job_id();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(client.Get(job)->summary().state(), wire::TASK_QUEUED);
}

}  // namespace
}  // namespace gt::test
