// Retention: jobs that ended long ago go, with all that is theirs; nothing else does.
#include "tests/unit/store/fixture.h"

namespace gt {
namespace {

class StoreExpireTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    node_ = script_.AddNode("n1");
  }
  JobId Finished(const std::string& name, uint32_t tasks = 1) {
    JobId job = script_.Submit(name, tasks);
    for (uint32_t i = 0; i < tasks; i++) script_.WholeLife({job, i}, node_, TaskState::kFailed);
    script_.Note(job, "ENDED", "of " + name);
    Commit();
    return job;
  }
  int Expire(Millis before, uint32_t rows = 1000) {
    int rounds = 0;
    for (bool more = true; more; rounds++) {
      Result<bool> expired = store_->Expire(before, rows);
      EXPECT_TRUE(expired.ok()) << expired.status().message();
      more = expired.ok() && *expired;
    }
    return rounds;
  }
  bool Known(JobId job) { return store_->GetJob(job).ok(); }

  NodeId node_;
};

TEST_F(StoreExpireTest, OnlyWhatEndedBeforeGoes) {
  JobId old = Finished("old");
  JobId running = script_.Submit("running");
  Uid uid = script_.Place({running, 0}, {node_});
  Commit();
  script_.wall += kHour;
  JobId young = Finished("young");
  script_.wall += kHour;

  Expire(script_.wall - kHour - kMinute);
  EXPECT_FALSE(Known(old));
  EXPECT_TRUE(store_->GetTasks(old, std::nullopt)->empty());
  EXPECT_TRUE(store_->GetAttempts({old, 0})->empty());
  EXPECT_TRUE(store_->Events(old, 0, 10)->empty());
  EXPECT_TRUE(Known(young));
  EXPECT_FALSE(store_->Events(young, 0, 10)->empty());
  EXPECT_TRUE(Known(running));
  EXPECT_EQ(store_->FindKey("key-" + std::to_string(old.value)).value(), std::nullopt);
  script_.Run(uid);  // what lives goes on
  Commit();
  ExpectLoadsTheSame();
}

TEST_F(StoreExpireTest, ALargeJobGoesInSmallTransactions) {
  JobId job = Finished("array", 500);
  script_.wall += kHour;
  EXPECT_GT(Expire(script_.wall, 100), 10);
  EXPECT_FALSE(Known(job));
  EXPECT_TRUE(store_->GetTasks(job, std::nullopt)->empty());
}

TEST_F(StoreExpireTest, TheClustersOwnHistoryGoesByItsAge) {
  script_.Note({}, "NODE_JOINED", "long ago");
  Commit();
  script_.wall += kHour;
  script_.Note({}, "NODE_LOST", "just now");
  Commit();
  Expire(script_.wall - kMinute);
  std::vector<HistoryEntry> left = store_->Events({}, 0, 10).value();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].line.text, "just now");
}

}  // namespace
}  // namespace gt
