// The loop between its producers, the disk and the world.
#include "coordinator/loop.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>

#include "coordinator/core/load.h"

namespace gt {
namespace {

using std::chrono::milliseconds;

struct Disk {
  std::mutex mutex;
  Status answer;
  int commits = 0;
  std::atomic<bool> slow{false};
  Status Commit() {
    while (slow) std::this_thread::sleep_for(milliseconds(1));
    std::lock_guard lock(mutex);
    commits++;
    return answer;
  }
  void Set(Status status) {
    std::lock_guard lock(mutex);
    answer = std::move(status);
  }
  int count() {
    std::lock_guard lock(mutex);
    return commits;
  }
};

class LoopTest : public testing::Test {
 protected:
  void Begin(LoopOptions options = {}) {
    options.clock = [this] { return Now{mono_.load(), 1'700'000'000'000}; };
    ClusterState state;
    state.cluster_id = "c";
    state.epoch = {1};
    Derive(&state, Policy(), options.clock());
    auto uid = [n = uint64_t{0}]() mutable { return Uid{1, ++n}; };
    auto engine = std::make_unique<Engine>(std::move(state), Policy(), uid, FinishedKeyLookup());
    LoopOutputs outputs;
    outputs.commit = [this](const Batch&, const ClusterState&) { return disk_.Commit(); };
    outputs.publish = [this](const Batch&, const ClusterState&) { published_++; };
    outputs.send = [this](Orders orders, const ClusterState&) {
      std::lock_guard lock(orders_mutex_);
      orders_.push_back(std::move(orders));
    };
    outputs.fatal = [this](const Status& why) { fatal_.set_value(why.message()); };
    loop_ = std::make_unique<Loop>(std::make_unique<LoopBody>(std::move(engine), std::move(outputs)), std::move(options));
    loop_->Start();
  }

  LoopItem Submit(const std::string& key, int jobs = 1) {
    LoopItem item;
    for (int i = 0; i < jobs; i++) {
      Job draft;
      draft.client_key = key + std::to_string(i);
      item.commands.push_back(SubmitJob{std::move(draft)});
    }
    item.done = [this](const Status& status, std::span<const Reply> replies) {
      std::lock_guard lock(done_mutex_);
      for (const Reply& reply : replies) ids_.push_back(std::get<SubmitReply>(reply).job.value);
      statuses_.push_back(status.code());
    };
    return item;
  }
  void WaitDone(size_t count) {
    for (int i = 0; i < 5000 && Done() < count; i++) std::this_thread::sleep_for(milliseconds(1));
    ASSERT_EQ(Done(), count);
  }
  void WaitCommits(int count) {
    for (int i = 0; i < 5000 && disk_.count() < count; i++) std::this_thread::sleep_for(milliseconds(1));
  }
  size_t Done() {
    std::lock_guard lock(done_mutex_);
    return statuses_.size();
  }

  std::atomic<Millis> mono_{1'000'000};
  Disk disk_;
  std::atomic<int> published_{0};
  std::mutex orders_mutex_, done_mutex_;
  std::vector<Orders> orders_;
  std::vector<uint64_t> ids_;
  std::vector<Code> statuses_;
  std::promise<std::string> fatal_;
  std::unique_ptr<Loop> loop_;  // last: it ends before what it uses
};

TEST_F(LoopTest, AnswersASubmitAfterItsCommit) {
  Begin();
  disk_.slow = true;
  ASSERT_TRUE(loop_->Push(Submit("a")).ok());
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(Done(), 0u);
  disk_.slow = false;
  WaitDone(1);
  EXPECT_EQ(disk_.count(), 1);
  EXPECT_EQ(ids_, std::vector<uint64_t>{1});
  EXPECT_EQ(published_, 1);
}

TEST_F(LoopTest, OneCommitServesAllThatWaited) {
  Begin();
  disk_.slow = true;
  ASSERT_TRUE(loop_->Push(Submit("first")).ok());
  std::this_thread::sleep_for(milliseconds(100));  // it is being committed
  for (int i = 0; i < 100; i++) ASSERT_TRUE(loop_->Push(Submit("k" + std::to_string(i) + "-")).ok());
  disk_.slow = false;
  WaitDone(101);
  EXPECT_EQ(disk_.count(), 2);
}

TEST_F(LoopTest, TakesAtMostAThousandSubmitsABatchAndNeverSplitsARequest) {
  Begin();
  disk_.slow = true;
  ASSERT_TRUE(loop_->Push(Submit("first")).ok());
  std::this_thread::sleep_for(milliseconds(100));
  for (int i = 0; i < 3; i++) ASSERT_TRUE(loop_->Push(Submit("r" + std::to_string(i) + "-", 700)).ok());
  disk_.slow = false;
  WaitDone(4);
  EXPECT_EQ(disk_.count(), 4);
  EXPECT_EQ(ids_.size(), 2101u);
}

TEST_F(LoopTest, AFullQueueRefusesAtOnce) {
  LoopOptions options;
  options.max_commands = 10;
  Begin(options);
  disk_.slow = true;
  ASSERT_TRUE(loop_->Push(Submit("first")).ok());
  std::this_thread::sleep_for(milliseconds(100));
  ASSERT_TRUE(loop_->Push(Submit("second", 10)).ok());
  EXPECT_EQ(loop_->Push(Submit("third")).code(), Code::kResourceExhausted);
  disk_.slow = false;
  WaitDone(2);
}

TEST_F(LoopTest, ARefusedRequestChangesNothingAndHearsWhy) {
  Begin();
  LoopItem item = Submit("a", 2);
  item.admit = [](const ClusterState&) { return Status(Code::kInvalidArgument, "no"); };
  ASSERT_TRUE(loop_->Push(std::move(item)).ok());
  WaitDone(1);
  EXPECT_EQ(statuses_[0], Code::kInvalidArgument);
  EXPECT_EQ(disk_.count(), 0);
}

TEST_F(LoopTest, HoldsWhileTheDiskIsFullAndThenCommitsTheSameBatch) {
  LoopOptions options;
  options.retry_every = 20;
  Begin(options);
  disk_.Set({Code::kResourceExhausted, "full"});
  ASSERT_TRUE(loop_->Push(Submit("kept")).ok());
  bool committed = true;
  std::string why;
  for (int i = 0; i < 2000 && committed; i++)
    ASSERT_TRUE(loop_->QueryAndWait([&](const LoopView& view) { committed = view.committed, why = view.held_reason; }).ok());
  EXPECT_FALSE(committed);
  EXPECT_EQ(why, "full");
  ASSERT_TRUE(loop_->QueryAndWait([](const LoopView&) {}).ok());
  EXPECT_EQ(loop_->Push(Submit("turned away")).code(), Code::kResourceExhausted);
  EXPECT_EQ(Done(), 0u);
  disk_.Set(OkStatus());
  mono_ += 25;
  WaitDone(1);
  EXPECT_EQ(statuses_[0], Code::kOk);
  EXPECT_EQ(ids_, std::vector<uint64_t>{1});
  for (int i = 0; i < 1000 && !loop_->Push(Submit("again")).ok(); i++) std::this_thread::sleep_for(milliseconds(1));
  WaitDone(2);
}

TEST_F(LoopTest, AFailedCommitIsFatal) {
  Begin();
  disk_.Set({Code::kInternal, "I/O error"});
  std::future<std::string> fatal = fatal_.get_future();
  ASSERT_TRUE(loop_->Push(Submit("a")).ok());
  ASSERT_EQ(fatal.wait_for(std::chrono::seconds(5)), std::future_status::ready);
  EXPECT_EQ(fatal.get(), "I/O error");
  EXPECT_EQ(Done(), 0u);
}

TEST_F(LoopTest, SendsOrdersToASessionThatJoined) {
  Begin();
  LoopItem item;
  item.commands.push_back(NodeHello{.session = 7, .name = "n", .uid = {1, 1}, .cluster_id = "c"});
  std::promise<HelloReply> reply;
  item.done = [&](const Status&, std::span<const Reply> replies) { reply.set_value(std::get<HelloReply>(replies[0])); };
  std::future<HelloReply> answer = reply.get_future();
  loop_->PushFromWorker(std::move(item));
  ASSERT_EQ(answer.wait_for(std::chrono::seconds(5)), std::future_status::ready);
  EXPECT_EQ(answer.get().refused, "");
  ASSERT_TRUE(loop_->QueryAndWait([](const LoopView&) {}).ok());
  std::lock_guard lock(orders_mutex_);
  ASSERT_EQ(orders_.size(), 1u);
  EXPECT_EQ(orders_[0].session, 7u);
  EXPECT_TRUE(orders_[0].snapshot_begin && orders_[0].snapshot_end);
}

TEST_F(LoopTest, StoppingAnswersWhatWaits) {
  Begin();
  disk_.slow = true;
  ASSERT_TRUE(loop_->Push(Submit("first")).ok());
  std::this_thread::sleep_for(milliseconds(100));
  ASSERT_TRUE(loop_->Push(Submit("second")).ok());
  std::thread stopper([&] { loop_->Stop(); });
  std::this_thread::sleep_for(milliseconds(100));
  disk_.slow = false;
  stopper.join();
  ASSERT_EQ(Done(), 2u);
  EXPECT_EQ(statuses_[0], Code::kOk);
  EXPECT_EQ(statuses_[1], Code::kUnavailable);
  EXPECT_EQ(loop_->Push(Submit("third")).code(), Code::kUnavailable);
  EXPECT_EQ(loop_->QueryAndWait([](const LoopView&) {}).code(), Code::kUnavailable);
}

TEST(HeardBoardTest, TellsEachStampOnceAndForgetsDeadSessions) {
  HeardBoard board;
  auto cell = board.Add(3);
  EXPECT_TRUE(board.Gather().empty());
  cell->at = 10;
  std::vector<Heard> heard = board.Gather();
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].session, 3u);
  EXPECT_EQ(heard[0].at, 10);
  EXPECT_TRUE(board.Gather().empty());
  cell->at = 20;
  cell.reset();
  EXPECT_EQ(board.Gather().size(), 1u);  // the last stamp counts
  EXPECT_TRUE(board.Gather().empty());
}

}  // namespace
}  // namespace gt
