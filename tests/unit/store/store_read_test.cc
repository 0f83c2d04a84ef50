#include <atomic>
#include <thread>

#include "tests/unit/store/fixture.h"

namespace gt {
namespace {

class StoreReadTest : public StoreTest {
 protected:
  std::vector<uint64_t> Ids(const JobFilter& filter) {
    std::vector<uint64_t> ids;
    JobPage page = store_->ListJobs(filter).value();
    for (const Job& job : page.jobs) ids.push_back(job.id.value);
    return ids;
  }
  using List = std::vector<uint64_t>;
};

TEST_F(StoreReadTest, AFinishedJobIsReadBackWholeWithItsTasksAttemptsAndFailure) {
  NodeId n1 = script_.AddNode("n1"), n2 = script_.AddNode("n2");
  JobId id = script_.Submit("gang", 1, 2);
  Uid uid = script_.Place({id, 0}, {n1, n2}, {"GPU-n10"});
  script_.Run(uid);
  script_.Fail(uid, Cause::kExitNonzero);
  script_.End(uid, Cause::kExitNonzero);
  script_.Finish({id, 0}, TaskState::kFailed);
  Script before = script_;
  Commit();
  EXPECT_EQ(TextOf(store_->GetJob(id).value()), TextOf(before.state.jobs.at(id)));
  EXPECT_EQ(TextOf(store_->GetTasks(id, std::nullopt).value().at(0)), TextOf(before.state.tasks.at({id, 0})));
  EXPECT_EQ(TextOf(store_->GetAttempts({id, 0}).value().at(0)), TextOf(before.state.attempts.at(uid)));
  EXPECT_EQ(JobState(store_->GetJob(id).value()), TaskState::kFailed);
  EXPECT_EQ(store_->GetJob(JobId{99}).status().code(), Code::kNotFound);
}

TEST_F(StoreReadTest, AttemptsComeInOrderAndTheNewestIsNumberZero) {
  NodeId n1 = script_.AddNode("n1");
  JobId id = script_.Submit("flaky");
  for (int i = 0; i < 3; i++) {
    Uid uid = script_.Place({id, 0}, {n1});
    script_.End(uid, Cause::kLaunchFailed);
    script_.Retry({id, 0});
    Commit();
  }
  auto attempts = store_->GetAttempts({id, 0}).value();
  ASSERT_EQ(attempts.size(), 3u);
  for (uint32_t i = 0; i < 3; i++) EXPECT_EQ(attempts[i].number, i + 1);
  EXPECT_EQ(store_->GetAttempts({id, 0}, 1).value().at(0).number, 3u);
  EXPECT_EQ(store_->GetAttemptByNumber({id, 0}, 0)->number, 3u);
  EXPECT_EQ(store_->GetAttemptByNumber({id, 0}, 2)->number, 2u);
  EXPECT_EQ(store_->GetAttemptByNumber({id, 0}, 4).status().code(), Code::kNotFound);
}

TEST_F(StoreReadTest, TasksOfAnArrayThatWereNeverPlacedHaveNoRow) {
  NodeId n1 = script_.AddNode("n1");
  JobId id = script_.Submit("array", 1'000'000);
  for (uint32_t i = 0; i < 150; i++) script_.WholeLife({id, i}, n1);
  Commit();
  EXPECT_EQ(store_->GetTasks(id, std::nullopt)->size(), 100u);
  EXPECT_EQ(store_->GetTasks(id, 7)->at(0).id.index, 7u);
  EXPECT_TRUE(store_->GetTasks(id, 150)->empty());
  script_.Cancel(id);
  Commit();
  EXPECT_EQ(store_->GetJob(id)->counts.cancelled, 999'850u);
  EXPECT_EQ(JobState(*store_->GetJob(id)), TaskState::kCancelled);
  EXPECT_TRUE(store_->GetTasks(id, 150)->empty());
}

TEST_F(StoreReadTest, ListsShowLiveJobsUnlessAskedForMore) {
  NodeId n1 = script_.AddNode("n1");
  JobId queued = script_.Submit("train-a"), active = script_.Submit("train-b"), good = script_.Submit("eval-a"),
        bad = script_.Submit("eval-b", 1, 1, "bob"), gone = script_.Submit("train-c", 1, 1, "bob");
  script_.Place({active, 0}, {n1});
  script_.WholeLife({good, 0}, n1);
  script_.WholeLife({bad, 0}, n1, TaskState::kFailed);
  script_.Cancel(gone);
  Commit();
  EXPECT_EQ(Ids({}), (List{active.value, queued.value}));
  EXPECT_EQ(Ids({.all = true}), (List{5, 4, 3, 2, 1}));
  EXPECT_EQ(Ids({.states = {TaskState::kActive}}), (List{active.value}));
  EXPECT_EQ(Ids({.states = {TaskState::kFailed, TaskState::kQueued}}), (List{bad.value, queued.value}));
  EXPECT_EQ(Ids({.all = true, .name_glob = "train-?"}), (List{5, 2, 1}));
  EXPECT_EQ(Ids({.all = true, .owner = "bob"}), (List{5, 4}));
  EXPECT_EQ(Ids({.owner = "bob"}), (List{}));
  EXPECT_EQ(Ids({.states = {TaskState::kCancelled}, .owner = "bob"}), (List{5}));
  EXPECT_EQ(store_->CountLiveJobs().value(), 2u);
  EXPECT_EQ(store_->ListJobs({.name_glob = std::string(201, '*')}).status().code(), Code::kInvalidArgument);
}

TEST_F(StoreReadTest, PagesJoinUpToTheWholeListWhateverTheFilter) {
  NodeId n1 = script_.AddNode("n1");
  Rng rng(3);
  for (int i = 0; i < 300; i++) {
    JobId id = script_.Submit("job", 1, 1, i % 3 == 0 ? "ada" : "bob");
    if (rng.OneIn(3)) script_.WholeLife({id, 0}, n1, rng.OneIn(2) ? TaskState::kFailed : TaskState::kSucceeded);
  }
  Commit();
  for (JobFilter filter : {JobFilter{.all = true}, JobFilter{}, JobFilter{.states = {TaskState::kFailed, TaskState::kQueued}},
                           JobFilter{.all = true, .owner = "bob"}}) {
    filter.limit = 1000;
    List whole = Ids(filter), pages;
    ASSERT_GT(whole.size(), 50u);
    filter.limit = 7;
    for (bool more = true; more;) {
      JobPage page = store_->ListJobs(filter).value();
      for (const Job& job : page.jobs) pages.push_back(job.id.value);
      more = page.more;
      filter.before = page.next_before;
    }
    EXPECT_EQ(pages, whole);
  }
}

TEST_F(StoreReadTest, AFilterThatMatchesNothingStopsLookingAndSaysWhereToGoOn) {
  for (int i = 0; i < 60'000; i++) script_.Submit(i == 0 ? "needle" : "hay");
  Commit();
  JobFilter filter{.name_glob = "needle"};
  JobPage page = store_->ListJobs(filter).value();
  EXPECT_TRUE(page.jobs.empty());
  EXPECT_TRUE(page.more);
  filter.before = page.next_before;
  page = store_->ListJobs(filter).value();
  ASSERT_EQ(page.jobs.size(), 1u);
  EXPECT_EQ(page.jobs[0].id.value, 1u);
  EXPECT_FALSE(page.more);
}

TEST_F(StoreReadTest, ARequestKeyFindsItsJobForEver) {
  NodeId n1 = script_.AddNode("n1");
  JobId id = script_.Submit("once");
  Commit();
  EXPECT_EQ(store_->FindKey("key-1").value(), id);
  script_.WholeLife({id, 0}, n1);
  Commit();
  Reopen();
  EXPECT_EQ(store_->FindKey("key-1").value(), id);
  EXPECT_EQ(store_->FindKey("key-2").value(), std::nullopt);
  EXPECT_EQ(store_->FindKey("").value(), std::nullopt);
}

TEST_F(StoreReadTest, TwoJobsCannotShareARequestKey) {
  script_.Submit("a");
  script_.Submit("b");
  script_.state.jobs.at(JobId{2}).client_key = "key-1";
  EXPECT_EQ(script_.Commit(store_.get()).code(), Code::kInternal);
  EXPECT_EQ(store_->ListJobs({}).value().jobs.size(), 0u);
}

TEST_F(StoreReadTest, HistoryIsReadByJobOrWholeFromWhereOneLeftOff) {
  JobId a = script_.Submit("a"), b = script_.Submit("b");
  for (int i = 0; i < 5; i++) {
    script_.Note(a, "A", std::to_string(i));
    script_.Note(b, "B", std::to_string(i));
    script_.Note(JobId{}, "NODE_UP", "n1");
    script_.wall += 10;
    Commit();
  }
  auto first = store_->Events(a, 0, 2).value();
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[1].line.text, "1");
  EXPECT_EQ(first[1].line.node, "n1");
  EXPECT_EQ(first[1].line.task_index, 2u);
  EXPECT_EQ(first[1].at_wall - first[0].at_wall, 10);
  auto rest = store_->Events(a, first[1].seq, 1000).value();
  ASSERT_EQ(rest.size(), 3u);
  EXPECT_EQ(rest[0].line.text, "2");
  EXPECT_EQ(store_->Events(JobId{}, 0, 1000)->size(), 15u);
  EXPECT_EQ(store_->LastEvents(b, 2)->at(0).line.text, "3");
  EXPECT_EQ(store_->LastEvents(JobId{}, 1)->at(0).line.kind, "NODE_UP");
  EXPECT_TRUE(store_->Events(a, UINT64_MAX, 10)->empty());
}

TEST_F(StoreReadTest, ReadersOnManyThreadsSeeOnlyWholeCommits) {
  NodeId n1 = script_.AddNode("n1");
  JobId id = script_.Submit("array", 2000);
  Commit();
  std::atomic<bool> stop = false;
  std::atomic<int> reads = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < 6; i++)
    readers.emplace_back([&] {
      while (!stop) {
        Job job = store_->GetJob(id).value();
        // One batch finishes ten tasks and notes it once.
        EXPECT_EQ(job.counts.succeeded % 10, 0u);
        EXPECT_EQ(job.counts.queued + job.counts.succeeded, 2000u);
        EXPECT_LE(job.counts.succeeded / 10, store_->Events(id, 0, 1000)->size());
        reads++;
      }
    });
  for (uint32_t i = 0; i < 2000; i++) {
    script_.WholeLife({id, i}, n1);
    if (i % 10 != 9) continue;
    script_.Note(id, "TEN", "");
    Commit();
    if (i % 100 == 99) {
      ASSERT_TRUE(store_->Checkpoint().ok());
    }
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_GT(reads, 10);
}

}  // namespace
}  // namespace gt
