#include "tests/unit/store/fixture.h"

namespace gt {
namespace {

using StoreLoadTest = StoreTest;

TEST_F(StoreLoadTest, ANewFileIsEmptyAndHasAnIdThatStays) {
  EXPECT_EQ(store_->cluster_id(), "c1");
  EXPECT_EQ(TextOf(store_->Load().value()), TextOf(ClusterState{}));
  Reopen();
  EXPECT_EQ(store_->cluster_id(), "c1");
  EXPECT_EQ(store_->Load()->cluster_id, "c1");
}

TEST_F(StoreLoadTest, TheEpochRisesAtEachStartAndIsOnDiskAtOnce) {
  EXPECT_EQ(store_->Load()->epoch.value, 0u);
  EXPECT_EQ(store_->BumpEpoch()->value, 1u);
  Reopen();
  EXPECT_EQ(store_->Load()->epoch.value, 1u);
  EXPECT_EQ(store_->BumpEpoch()->value, 2u);
}

TEST_F(StoreLoadTest, ACommitOfAStateWithAnOlderEpochDoesNotLowerIt) {
  store_->BumpEpoch().value();
  script_.AddNode("n1");
  Commit();
  EXPECT_EQ(store_->Load()->epoch.value, 1u);
}

TEST_F(StoreLoadTest, LiveThingsOfEveryKindComeBackAsTheyWere) {
  NodeId n1 = script_.AddNode("n1"), n2 = script_.AddNode("n2"), n3 = script_.AddNode("n3", 0);
  script_.Submit("queued");
  script_.Submit("array", 1000);
  JobId gang = script_.Submit("gang", 1, 2), single = script_.Submit("single");
  Commit();
  Uid uid = script_.Place({gang, 0}, {n1, n2}, {"GPU-n10", "GPU-n20", "GPU-n11"});
  script_.Run(uid);
  script_.Place({single, 0}, {n3});
  Commit();
  ExpectLoadsTheSame();
}

TEST_F(StoreLoadTest, AGangThatReFormsIsRememberedWithItsRanksAndNodes) {
  NodeId n1 = script_.AddNode("n1"), n2 = script_.AddNode("n2"), n3 = script_.AddNode("n3");
  JobId gang = script_.Submit("gang", 1, 2);
  Uid uid = script_.Place({gang, 0}, {n1, n2});
  script_.Run(uid);
  Commit();
  script_.Reform(uid, n3);
  Commit();
  ExpectLoadsTheSame();
  Attempt loaded = store_->Load()->attempts.at(uid);
  EXPECT_EQ(loaded.rendezvous.generation, Generation{2});
  EXPECT_EQ(loaded.members[1].node, n3);
  EXPECT_EQ(loaded.reform.born.back(), Generation{2});
  EXPECT_EQ(loaded.reform.former, std::set<NodeId>{n2});
  EXPECT_TRUE(loaded.reform.underway());
}

TEST_F(StoreLoadTest, ATaskThatWaitsForItsRetryKeepsItsBudgetsAndCheckpoint) {
  NodeId n1 = script_.AddNode("n1");
  JobId job = script_.Submit("retry");
  Uid uid = script_.Place({job, 0}, {n1}, {"GPU-n10"});
  script_.Run(uid);
  Commit();
  script_.Fail(uid, Cause::kGpuFault);
  script_.End(uid, Cause::kGpuFault);
  script_.Retry({job, 0});
  Commit();
  EXPECT_EQ(script_.state.tasks.at({job, 0}).infra_failures_wall.size(), 1u);
  ExpectLoadsTheSame();
  script_.Place({job, 0}, {n1});
  Commit();
  ExpectLoadsTheSame();
}

TEST_F(StoreLoadTest, AnEndedAttemptStaysLiveUntilItsLastMemberIsGone) {
  NodeId n1 = script_.AddNode("n1"), n2 = script_.AddNode("n2");
  JobId job = script_.Submit("gang", 1, 2);
  Uid uid = script_.Place({job, 0}, {n1, n2});
  script_.Run(uid);
  script_.Fail(uid, Cause::kExitNonzero);
  script_.Gone(uid, n1);
  script_.End(uid, Cause::kExitNonzero, /*all_gone=*/false);
  script_.Finish({job, 0}, TaskState::kFailed);
  Commit();
  ASSERT_EQ(script_.state.attempts.size(), 1u);
  ASSERT_EQ(script_.state.jobs.size(), 0u);
  ExpectLoadsTheSame();
  script_.Gone(uid, n2);
  Commit();
  ASSERT_EQ(script_.state.attempts.size(), 0u);
  ExpectLoadsTheSame();
}

TEST_F(StoreLoadTest, FinishedThingsAreNotLoaded) {
  NodeId n1 = script_.AddNode("n1");
  JobId job = script_.Submit("array", 3);
  for (uint32_t i = 0; i < 2; i++) script_.WholeLife({job, i}, n1);
  Commit();
  ClusterState loaded = store_->Load().value();
  EXPECT_EQ(loaded.jobs.size(), 1u);
  EXPECT_EQ(loaded.tasks.size() + loaded.attempts.size(), 0u);
  script_.WholeLife({job, 2}, n1);
  Commit();
  ExpectLoadsTheSame();
  EXPECT_EQ(store_->Load()->jobs.size(), 0u);
}

TEST_F(StoreLoadTest, TheSameBatchMayBeWrittenOverManyCommitsOrOne) {
  NodeId n1 = script_.AddNode("n1");
  JobId job = script_.Submit("array", 50);
  Script whole = script_;
  for (uint32_t i = 0; i < 40; i++) {
    script_.WholeLife({job, i}, n1);
    whole.WholeLife({job, i}, n1);
    Commit();
  }
  ExpectLoadsTheSame();
  auto other = Store::Open(dir_ + "/other.db", options()).value();
  ASSERT_TRUE(whole.Commit(other.get()).ok());
  EXPECT_EQ(TextOf(other->Load().value()), TextOf(store_->Load().value()));
}

}  // namespace
}  // namespace gt
