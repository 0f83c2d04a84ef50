// Kill and power loss between any two operations on the disk, and a disk that runs full: what was committed is there, what
// was not is there wholly or not at all.
#include "tests/support/mem_vfs.h"
#include "tests/unit/store/fixture.h"

namespace gt {
namespace {

enum class End { kKill, kPowerLost, kPowerTorn };

StoreOptions OnDisk(const MemDisk& disk) { return {.vfs = disk.vfs_name(), .cluster_id = "c1", .background = false}; }

void Finish(MemDisk* disk, End end) {
  if (end == End::kKill) disk->Kill();
  else disk->LosePower(end == End::kPowerLost ? MemDisk::Unsynced::kLost : MemDisk::Unsynced::kTorn);
}

// Plays a fixed life, one commit a step; `texts` gets the state after each. Returns how many commits succeeded.
size_t Play(MemDisk* disk, std::unique_ptr<Store>* store, std::vector<std::string>* texts) {
  Result<std::unique_ptr<Store>> opened = Store::Open("state.db", OnDisk(*disk));
  if (!opened.ok()) return 0;
  *store = std::move(*opened);
  Script script;
  NodeId n1 = script.AddNode("n1"), n2 = script.AddNode("n2");
  size_t committed = 0;
  auto commit = [&] {
    bool done = script.Commit(store->get()).ok();
    if (done) committed++;
    else script.Forget();  // the next steps see what memory would hold
    texts->push_back(TextOf(script.state));
    return done;
  };
  JobId array = script.Submit("array", 3), gang = script.Submit("gang", 1, 2);
  if (!commit()) return committed;
  Uid uid = script.Place({gang, 0}, {n1, n2});
  script.WholeLife({array, 0}, n1);
  if (!commit()) return committed;
  script.Run(uid);
  script.Fail(uid, Cause::kSignaled);
  if (!commit()) return committed;
  if (!(*store)->Checkpoint().ok()) return committed;
  script.End(uid, Cause::kSignaled);
  script.Retry({gang, 0});
  if (!commit()) return committed;
  script.WholeLife({array, 1}, n2, TaskState::kFailed);
  if (!commit()) return committed;
  std::ignore = (*store)->Checkpoint();
  script.Cancel(array);
  commit();
  return committed;
}

class StoreCrashTest : public testing::TestWithParam<End> {};

TEST_P(StoreCrashTest, AtAnyOperationExactlyTheCommittedPrefixIsThere) {
  std::vector<std::string> whole = {TextOf(ClusterState{})};
  int64_t total;
  {
    MemDisk disk(1);
    std::unique_ptr<Store> store;
    ASSERT_EQ(Play(&disk, &store, &whole), 6u);
    total = disk.operations();
  }
  ASSERT_GT(total, 60);
  int in_between = 0;
  for (int64_t at = 0; at < total; at++) {
    MemDisk disk(static_cast<uint64_t>(at));
    disk.DieAfter(at);
    std::unique_ptr<Store> store;
    std::vector<std::string> texts;
    size_t committed = Play(&disk, &store, &texts);
    ASSERT_TRUE(disk.dead());
    Finish(&disk, GetParam());
    auto reopened = Store::Open("state.db", OnDisk(disk));
    ASSERT_TRUE(reopened.ok()) << "operation " << at << ": " << reopened.status().message();
    ASSERT_TRUE((*reopened)->Check().ok()) << "operation " << at;
    std::string loaded = TextOf((*reopened)->Load().value());
    // The commit under way may have reached the disk before its answer did.
    bool next = committed + 1 < whole.size() && loaded == whole[committed + 1];
    ASSERT_TRUE(loaded == whole[committed] || next) << "operation " << at << ", " << committed << " commits\n" << loaded;
    if (committed > 0 && committed < 6) in_between++;
  }
  EXPECT_GT(in_between, 20);
}

INSTANTIATE_TEST_SUITE_P(Ends, StoreCrashTest, testing::Values(End::kKill, End::kPowerLost, End::kPowerTorn));

TEST(StoreDiskTest, WithoutSyncPowerLossWouldLoseACommit) {
  // The disk of these tests is no friendlier than a real one.
  MemDisk disk(1);
  auto store = Store::Open("state.db", OnDisk(disk)).value();
  Script script;
  script.Submit("a");
  int64_t before = disk.operations();
  ASSERT_TRUE(script.Commit(store.get()).ok());
  int64_t commit_cost = disk.operations() - before;
  script.Submit("b");
  disk.DieAfter(commit_cost - 1);  // all but the sync
  EXPECT_FALSE(script.Commit(store.get()).ok());
  disk.LosePower(MemDisk::Unsynced::kLost);
  store = Store::Open("state.db", OnDisk(disk)).value();
  EXPECT_EQ(store->Load()->jobs.size(), 1u);
}

TEST(StoreDiskTest, AFullDiskRefusesTheBatchAndTakesItAgainWhenThereIsSpace) {
  MemDisk disk(1);
  auto store = Store::Open("state.db", OnDisk(disk)).value();
  Script script;
  NodeId n1 = script.AddNode("n1");
  JobId job = script.Submit("array", 1000);
  ASSERT_TRUE(script.Commit(store.get()).ok());
  std::string before = TextOf(store->Load().value());
  for (uint32_t i = 0; i < 300; i++) script.WholeLife({job, i}, n1);
  script.Note(job, "HALF", "");
  for (int64_t more : {0, 4'000, 40'000}) {
    disk.SetCapacity(disk.UsedBytes() + more);
    EXPECT_EQ(script.Commit(store.get()).code(), Code::kResourceExhausted) << more;
    EXPECT_EQ(TextOf(store->Load().value()), before);
    EXPECT_TRUE(store->Events(job, 0, 10)->empty());
  }
  disk.SetCapacity(INT64_MAX);
  ASSERT_TRUE(script.Commit(store.get()).ok());
  EXPECT_EQ(TextOf(store->Load().value()), TextOf(script.state));
  EXPECT_EQ(store->Events(job, 0, 10)->size(), 1u);
}

TEST(StoreDiskTest, ADiskThatDiesIsAnInternalErrorAndNotWantOfSpace) {
  MemDisk disk(1);
  auto store = Store::Open("state.db", OnDisk(disk)).value();
  Script script;
  script.Submit("a");
  disk.DieAfter(1);
  EXPECT_EQ(script.Commit(store.get()).code(), Code::kInternal);
}

TEST(StoreDiskTest, DamageIsFoundAndNamed) {
  MemDisk disk(1);
  auto store = Store::Open("state.db", OnDisk(disk)).value();
  Script script;
  for (int i = 0; i < 200; i++) script.Submit("a");
  ASSERT_TRUE(script.Commit(store.get()).ok());
  ASSERT_TRUE(store->Checkpoint().ok());
  ASSERT_TRUE(store->Check().ok());
  store.reset();
  for (int64_t page = 1; disk.Damage("state.db", page * 4096 + 3); page++) continue;
  Status found = Store::Check("state.db", disk.vfs_name());
  EXPECT_EQ(found.code(), Code::kDataLoss);
  EXPECT_NE(found.message().find("state.db is damaged"), std::string::npos) << found.message();
}

}  // namespace
}  // namespace gt
