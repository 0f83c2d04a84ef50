// The coordinator alone, as a process, through its API.
#include <gtest/gtest.h>

#include <thread>

#include "common/os/file.h"
#include "common/os/net.h"
#include "tests/support/cluster.h"

namespace gt::test {
namespace {

using grpc::StatusCode;

class CoordinatorTest : public testing::Test {
 protected:
  void SetUp() override {
    Status started = coordinator_.Start();
    ASSERT_TRUE(started.ok()) << started.message();
  }
  JobsClient Client() { return JobsClient(coordinator_.access()); }

  CoordinatorProcess coordinator_{GT_COORDINATOR};
};

TEST_F(CoordinatorTest, WritesAnAccessFileThatOnlyItsOwnerReads) {
  Access access = coordinator_.access();
  EXPECT_EQ(access.address, "127.0.0.1:" + std::to_string(coordinator_.port()));
  EXPECT_EQ(access.token.size(), 64u);
  EXPECT_FALSE(access.cluster_id.empty());
  EXPECT_EQ(access.protocol, 1u);
}

TEST_F(CoordinatorTest, DemandsTheTokenAndTheProtocol) {
  JobsClient none = Client(), wrong = Client(), old = Client(), newer = Client();
  none.token = "";
  EXPECT_EQ(none.Server().status.error_code(), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(none.Watch(1).status.error_code(), StatusCode::UNAUTHENTICATED);
  wrong.token.back() = wrong.token.back() == '0' ? '1' : '0';
  EXPECT_EQ(wrong.SubmitTrue("a").status.error_code(), StatusCode::UNAUTHENTICATED);
  old.protocol = "";
  EXPECT_EQ(old.List().status.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_NE(old.List().status.error_message().find("upgrade the caller"), std::string::npos);
  newer.protocol = "2";
  EXPECT_NE(newer.List().status.error_message().find("upgrade the coordinator"), std::string::npos);
}

TEST_F(CoordinatorTest, AKeyMakesOneJobHoweverOftenItIsSent) {
  JobsClient client = Client();
  auto first = client.SubmitTrue("once");
  ASSERT_TRUE(first.ok()) << first.status.error_message();
  EXPECT_EQ(first->jobs(0).job_id(), 1u);
  EXPECT_EQ(first->jobs(0).warnings_size(), 1) << "no node is there yet";
  auto again = client.SubmitTrue("once");
  EXPECT_EQ(again->jobs(0).job_id(), 1u);
  EXPECT_TRUE(again->jobs(0).duplicate());
  EXPECT_EQ(client.SubmitTrue("other")->jobs(0).job_id(), 2u);
  auto list = client.List();
  ASSERT_EQ(list->jobs_size(), 2);
  EXPECT_EQ(list->jobs(0).job_id(), 2u);
  EXPECT_EQ(list->jobs(1).name(), "job-once");
  EXPECT_EQ(list->jobs(1).state(), wire::TASK_QUEUED);
  EXPECT_EQ(list->jobs(1).owner(), "tester");
  EXPECT_FALSE(list->jobs(1).reason().empty());
  EXPECT_EQ(list->total_live(), 2u);
}

TEST_F(CoordinatorTest, ABadJobIsRefusedWithEveryProblemAndNoneOfTheRequestIsMade) {
  JobsClient client = Client();
  wire::SubmitRequest request = TrueJob("good");
  auto* bad = request.add_jobs();
  bad->set_client_key(Key("bad"));
  bad->mutable_spec()->set_priority(1000);
  auto answer = client.Submit(request);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->jobs(0).problems_size(), 0);
  EXPECT_GE(answer->jobs(1).problems_size(), 2);
  EXPECT_EQ(client.List()->jobs_size(), 0);
  EXPECT_EQ(client.Submit(wire::SubmitRequest()).status.error_code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(CoordinatorTest, ADryRunChangesNothing) {
  wire::SubmitRequest request = TrueJob("dry");
  request.set_dry_run(true);
  auto answer = Client().Submit(request);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->jobs(0).job_id(), 0u);
  EXPECT_EQ(Client().List(true)->jobs_size(), 0);
}

TEST_F(CoordinatorTest, CancellingAQueuedJobEndsItsWatchers) {
  JobsClient client = Client();
  uint64_t job = client.SubmitTrue("a")->jobs(0).job_id();
  Answer<std::vector<wire::JobSummary>> seen;
  std::thread watcher([&] { seen = Client().Watch(job); });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  auto cancelled = client.Cancel(job);
  watcher.join();
  ASSERT_TRUE(cancelled.ok());
  EXPECT_EQ(cancelled->results(0).outcome(), wire::CancelResponse::One::ACCEPTED);
  ASSERT_TRUE(seen.ok()) << seen.status.error_message();
  ASSERT_GE(seen->size(), 2u);
  EXPECT_EQ(seen->front().state(), wire::TASK_QUEUED);
  EXPECT_EQ(seen->back().state(), wire::TASK_CANCELLED);
  EXPECT_EQ(client.Cancel(job)->results(0).outcome(), wire::CancelResponse::One::ALREADY_FINISHED);
  EXPECT_EQ(client.Cancel(99)->results(0).outcome(), wire::CancelResponse::One::NOT_FOUND);
  EXPECT_EQ(Client().Watch(job)->size(), 1u) << "a finished job has one summary, the final one";
}

TEST_F(CoordinatorTest, EventsTellTheHistoryAndFollowToTheEnd) {
  JobsClient client = Client();
  uint64_t job = client.SubmitTrue("a")->jobs(0).job_id();
  Answer<std::vector<wire::EventLine>> followed;
  std::thread follower([&] { followed = Client().Events(job, true); });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  client.Cancel(job);
  follower.join();
  ASSERT_TRUE(followed.ok()) << followed.status.error_message();
  auto read = client.Events(job);
  ASSERT_EQ(read->size(), followed->size());
  ASSERT_GE(read->size(), 2u);
  EXPECT_EQ(read->front().kind(), "SUBMITTED");
  EXPECT_EQ(client.Events(99).status.error_code(), StatusCode::NOT_FOUND);
}

TEST_F(CoordinatorTest, UnknownJobsAreNotFoundEverywhere) {
  JobsClient client = Client();
  EXPECT_EQ(client.Get(7).status.error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(client.Explain(7).status.error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(client.Watch(7).status.error_code(), StatusCode::NOT_FOUND);
  EXPECT_NE(client.Get(7).status.error_message().find("7"), std::string::npos);
}

TEST_F(CoordinatorTest, ExplainsWhyAJobWaits) {
  uint64_t job = Client().SubmitTrue("a")->jobs(0).job_id();
  auto why = Client().Explain(job);
  ASSERT_TRUE(why.ok());
  EXPECT_FALSE(why->headline().empty());
  EXPECT_EQ(why->summary().job_id(), job);
}

TEST_F(CoordinatorTest, NothingAcknowledgedIsLostByAKill) {
  std::vector<uint64_t> ids;
  for (int i = 0; i < 20; i++) ids.push_back(Client().SubmitTrue("k" + std::to_string(i))->jobs(0).job_id());
  Client().Cancel(ids[3]);
  Access before = coordinator_.access();
  uint64_t epoch = Client().Server()->epoch();
  coordinator_.Kill();
  ASSERT_TRUE(coordinator_.Start().ok());
  EXPECT_EQ(coordinator_.access().token, before.token);
  EXPECT_EQ(coordinator_.access().cluster_id, before.cluster_id);
  EXPECT_EQ(Client().Server()->epoch(), epoch + 1);
  EXPECT_EQ(Client().List()->jobs_size(), 19);
  EXPECT_EQ(Client().List(true)->jobs_size(), 20);
  EXPECT_EQ(Client().Get(ids[3])->summary().state(), wire::TASK_CANCELLED);
  EXPECT_EQ(Client().SubmitTrue("k5")->jobs(0).job_id(), ids[5]);
  EXPECT_EQ(Client().SubmitTrue("k3")->jobs(0).job_id(), ids[3]) << "also of a job that is over";
  EXPECT_EQ(Client().SubmitTrue("new")->jobs(0).job_id(), ids.back() + 1);
}

TEST_F(CoordinatorTest, StopsWithinTwoSecondsThoughSomebodyWatches) {
  uint64_t job = Client().SubmitTrue("a")->jobs(0).job_id();
  std::thread watcher([&] { EXPECT_FALSE(Client().Watch(job).ok()); });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(coordinator_.Stop(), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  watcher.join();
}

TEST_F(CoordinatorTest, ASecondOneOnTheSameFolderSaysWhoHasIt) {
  Ended ended = coordinator_.RunOther({"--data-dir", coordinator_.data_dir(), "--listen", "127.0.0.1:0"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_NE(ended.err.find(coordinator_.data_dir()), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find(std::to_string(coordinator_.pid())), std::string::npos) << ended.err;
}

TEST_F(CoordinatorTest, APortInUseIsNamedAndNothingIsLeftHalfDone) {
  std::string other = coordinator_.dir() + "/other";
  Ended ended = coordinator_.RunOther({"--data-dir", other, "--listen", "127.0.0.1:" + std::to_string(coordinator_.port())});
  EXPECT_EQ(ended.code, 1);
  EXPECT_NE(ended.err.find(std::to_string(coordinator_.port())), std::string::npos) << ended.err;
  EXPECT_FALSE(Exists(other + "/access"));
  EXPECT_FALSE(Exists(other + "/coordinator.db"));
}

TEST_F(CoordinatorTest, ADamagedDatabaseIsNamed) {
  coordinator_.Stop();
  ASSERT_TRUE(WriteFile(coordinator_.data_dir() + "/coordinator.db", std::string(8192, 'x')).ok());
  Ended ended = coordinator_.RunOther({"--data-dir", coordinator_.data_dir(), "--listen", "127.0.0.1:0"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_NE(ended.err.find("coordinator.db"), std::string::npos) << ended.err;
}

TEST(CoordinatorSettingsTest, WrongUsageAndSettingsEndWithTwo) {
  CoordinatorProcess process(GT_COORDINATOR);
  Ended flag = process.RunOther({"--lisen", "x"});
  EXPECT_EQ(flag.code, 2);
  EXPECT_NE(flag.err.find("did you mean --listen"), std::string::npos) << flag.err;
  Ended relation = process.RunOther({"--set", "beat=5s", "--set", "node_lost_after=10s", "--data-dir", process.data_dir()});
  EXPECT_EQ(relation.code, 2);
  EXPECT_NE(relation.err.find("three beats"), std::string::npos) << relation.err;
  Ended unknown = process.RunOther({"--set", "lisen=1"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.err.find("listen"), std::string::npos) << unknown.err;
  EXPECT_FALSE(Exists(process.data_dir()));
}

TEST(CoordinatorSettingsTest, AnAddressThatOthersReachIsRefused) {
  CoordinatorProcess process(GT_COORDINATOR);
  Ended ended = process.RunOther({"--listen", "0.0.0.0:0", "--data-dir", process.data_dir()});
  EXPECT_EQ(ended.code, 1);
  EXPECT_NE(ended.err.find("TLS"), std::string::npos) << ended.err;
}

TEST(CoordinatorSettingsTest, PrintsSettingsWithTheirOrigin) {
  CoordinatorProcess process(GT_COORDINATOR);
  Ended ended = process.RunOther({"--set", "beat=1s", "--print-config"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_NE(ended.err.find("beat: 1s"), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("--set beat"), std::string::npos) << ended.err;
  EXPECT_EQ(process.RunOther({"--version"}).code, 0);
  EXPECT_EQ(process.RunOther({"--help"}).code, 0);
}

}  // namespace
}  // namespace gt::test
