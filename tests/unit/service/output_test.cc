// What ranks print, from a node's stream to a reader.
#include <gtest/gtest.h>

#include <thread>

#include "tests/support/cluster.h"
#include "tests/support/fake_worker.h"

namespace gt::test {
namespace {

class OutputTest : public testing::Test {
 protected:
  void SetUp() override {
    Status started = coordinator_.Start({"--set", "disk_low=1MiB", "--set", "disk_min=1MiB"});
    ASSERT_TRUE(started.ok()) << started.message();
    worker_ = std::make_unique<FakeWorker>(coordinator_.access(), FakeWorkerOptions{.finish_at_once = false});
    ASSERT_TRUE(worker_->Welcomed().has_value());
    job_ = Client().SubmitTrue("a")->jobs(0).job_id();
    auto order = worker_->TakeRun();
    ASSERT_TRUE(order.has_value());
    order_ = *order;
    worker_->ReportPhase(order_, wire::PHASE_RUNNING);
  }
  JobsClient Client() { return JobsClient(coordinator_.access()); }

  // Returns once it is on the coordinator's disk.
  void Ship(uint64_t offset, const std::string& data, uint32_t stream = 1) {
    Access access = coordinator_.access();
    auto stub = wire::WorkerService::NewStub(grpc::CreateChannel(access.address, grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    Client().Prepare(&context);
    auto call = stub->ShipLogs(&context);
    wire::LogBatch batch;
    batch.set_node_name("node-a");
    batch.set_end_offset(offset + data.size());
    wire::LogFrame* frame = batch.add_frames();
    *frame->mutable_uid() = order_.uid();
    frame->set_rank(0);
    frame->set_stream(stream);
    frame->set_offset(offset);
    frame->set_data(data);
    frame->set_time_ms(1'700'000'000'000 + static_cast<int64_t>(offset));
    ASSERT_TRUE(call->Write(batch));
    wire::LogBatchAck ack;
    ASSERT_TRUE(call->Read(&ack)) << call->Finish().error_message();
    EXPECT_EQ(ack.acked_offset(), offset + data.size());
    call->WritesDone();
    EXPECT_TRUE(call->Finish().ok());
  }

  struct Output {
    std::string text;
    std::vector<std::string> notices;
    bool end = false;
    grpc::Status status;
  };
  Output Read(wire::ReadLogsRequest request = {}) {
    request.set_job_id(job_);
    grpc::ClientContext context;
    JobsClient client = Client();
    client.Prepare(&context);
    auto reader = client.stub()->ReadLogs(&context, request);
    Output output;
    for (wire::LogChunk chunk; reader->Read(&chunk);) {
      output.text += chunk.data();
      if (!chunk.notice().empty()) output.notices.push_back(chunk.notice());
      output.end = chunk.end();
      if (!chunk.data().empty()) {
        EXPECT_EQ(chunk.node(), "node-a");
        EXPECT_EQ(chunk.attempt(), 1u);
      }
    }
    output.status = reader->Finish();
    return output;
  }
  // Exit code 0 with so much on standard output.
  void End(uint64_t printed) {
    worker_->ReportExit(order_, 0, "", printed);
    EXPECT_EQ(Client().Watch(job_)->back().state(), wire::TASK_SUCCEEDED);
  }

  CoordinatorProcess coordinator_{GT_COORDINATOR};
  std::unique_ptr<FakeWorker> worker_;
  wire::AttemptOrder order_;
  uint64_t job_ = 0;
};

TEST_F(OutputTest, IsReadAsItWasPrinted) {
  Ship(0, "one\ntwo\n");
  Ship(8, "three\n");
  Output output = Read();
  EXPECT_EQ(output.text, "one\ntwo\nthree\n");
  EXPECT_TRUE(output.end);
  EXPECT_TRUE(output.status.ok());
}

TEST_F(OutputTest, SendingAgainRepeatsNothing) {
  Ship(0, "one\n");
  Ship(0, "one\ntwo\n");
  EXPECT_EQ(Read().text, "one\ntwo\n");
}

TEST_F(OutputTest, TheTailStartsSoManyLinesBeforeTheEnd) {
  Ship(0, "one\ntwo\nthree\n");
  wire::ReadLogsRequest request;
  request.set_tail_lines(2);
  EXPECT_EQ(Read(request).text, "two\nthree\n");
}

TEST_F(OutputTest, ACursorGoesOnWhereAReaderBrokeOff) {
  Ship(0, "one\ntwo\n");
  wire::ReadLogsRequest request;
  wire::LogCursor* cursor = request.add_cursors();
  *cursor->mutable_uid() = order_.uid();
  cursor->set_rank(0);
  cursor->set_stream(1);
  cursor->set_offset(4);
  EXPECT_EQ(Read(request).text, "two\n");
}

TEST_F(OutputTest, FollowingEndsAtTheSizeThatTheExitRecordPromises) {
  Output followed;
  std::thread follower([&] {
    wire::ReadLogsRequest request;
    request.set_follow(true);
    followed = Read(request);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  Ship(0, "one\n");
  End(8);
  Ship(4, "two\n");  // later than the exit, as it happens
  follower.join();
  EXPECT_EQ(followed.text, "one\ntwo\n");
  EXPECT_TRUE(followed.end);
  EXPECT_TRUE(followed.status.ok()) << followed.status.error_message();
  EXPECT_TRUE(followed.notices.empty());
}

TEST_F(OutputTest, WhatNeverArrivesIsSaidAndNotWaitedForForEver) {
  Ship(0, "one\n");
  End(100);
  Output output = Read();
  EXPECT_EQ(output.text, "one\n");
  ASSERT_EQ(output.notices.size(), 1u);
  EXPECT_NE(output.notices[0].find("not arrived"), std::string::npos);
}

TEST_F(OutputTest, WhatTheNodeCouldNotKeepIsSaid) {
  Ship(0, "one\n");
  worker_->ReportExit(order_, 0, "", 4, 96);
  EXPECT_EQ(Client().Watch(job_)->back().state(), wire::TASK_SUCCEEDED);
  Output output = Read();
  EXPECT_EQ(output.text, "one\n");
  ASSERT_EQ(output.notices.size(), 1u);
  EXPECT_NE(output.notices[0].find("96 bytes that rank 0 printed were not kept"), std::string::npos);
  EXPECT_TRUE(output.end);
}

TEST_F(OutputTest, SurvivesAKillOfTheCoordinator) {
  Ship(0, "kept\n");
  coordinator_.Kill();
  ASSERT_TRUE(coordinator_.Start({"--set", "disk_low=1MiB", "--set", "disk_min=1MiB"}).ok());
  EXPECT_EQ(Read().text, "kept\n");
}

TEST_F(OutputTest, AnUnknownAttemptIsNotFound) {
  wire::ReadLogsRequest request;
  request.set_attempt(9);
  EXPECT_EQ(Read(request).status.error_code(), grpc::StatusCode::NOT_FOUND);
}

}  // namespace
}  // namespace gt::test
