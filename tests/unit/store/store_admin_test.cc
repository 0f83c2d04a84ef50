#include <sqlite3.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>
#include <thread>

#include "common/os/file.h"
#include "coordinator/store/data_dir.h"
#include "coordinator/store/schema.h"
#include "tests/unit/store/fixture.h"

namespace gt {
namespace {

class StoreAdminTest : public StoreTest {
 protected:
  void Sql(const std::string& path, const std::string& sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  }
  Status OpenStatus(const std::string& path) { return Store::Open(path, options()).status(); }
};

TEST_F(StoreAdminTest, ABackupIsWholeAndStartsANewIncarnationWithFreshIds) {
  script_.AddNode("n1");
  JobId job = script_.Submit("a");
  Commit();
  store_->BumpEpoch().value();
  ASSERT_TRUE(store_->Backup(dir_ + "/backups/one.db").ok());
  EXPECT_EQ(store_->Backup(dir_ + "/backups/one.db").code(), Code::kAlreadyExists);
  EXPECT_EQ(ListDirectory(dir_ + "/backups").value(), std::vector<std::string>{"one.db"});
  ASSERT_TRUE(Store::Check(dir_ + "/backups/one.db").ok());
  script_.Submit("after the backup");
  Commit();

  store_ = Store::Open(dir_ + "/backups/one.db", options()).value();
  ClusterState restored = store_->Load().value();
  EXPECT_EQ(restored.jobs.size(), 1u);
  EXPECT_TRUE(restored.jobs.contains(job));
  EXPECT_EQ(restored.cluster_id, "c1");
  EXPECT_GT(restored.next_job.value, 1000u);
  EXPECT_GT(restored.epoch.value, 100u);
  uint64_t next_job = restored.next_job.value;
  store_ = Store::Open(dir_ + "/backups/one.db", options()).value();  // only once
  EXPECT_EQ(store_->Load()->next_job.value, next_job);
}

TEST_F(StoreAdminTest, ABackupThatCannotBeWrittenLeavesNothing) {
  ASSERT_TRUE(WriteFile(dir_ + "/file", "").ok());
  EXPECT_FALSE(store_->Backup(dir_ + "/file/one.db").ok());
  EXPECT_EQ(ReadFile(dir_ + "/file").value(), "");
}

TEST_F(StoreAdminTest, ANewerSchemaIsRefusedAndLeftAlone) {
  store_.reset();
  Sql(path(), "PRAGMA user_version = 999");
  Status refused = OpenStatus(path());
  EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
  EXPECT_NE(refused.message().find("newer gt-coordinator (schema 999"), std::string::npos) << refused.message();
  Sql(path(), "PRAGMA user_version = " + std::to_string(kSchemaVersion));
  EXPECT_TRUE(OpenStatus(path()).ok());
}

TEST_F(StoreAdminTest, SomebodyElsesDatabaseIsRefused) {
  Sql(dir_ + "/other.db", "CREATE TABLE notes(text)");
  EXPECT_EQ(OpenStatus(dir_ + "/other.db").code(), Code::kFailedPrecondition);
}

TEST_F(StoreAdminTest, AFileThatIsNoDatabaseIsDataLossThatNamesTheNewestBackup) {
  ASSERT_TRUE(store_->Backup(dir_ + "/backups/old.db").ok());
  ASSERT_TRUE(store_->Backup(dir_ + "/backups/new.db").ok());
  timespec past[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
  ASSERT_EQ(utimensat(AT_FDCWD, (dir_ + "/backups/old.db").c_str(), past, 0), 0);
  store_.reset();
  ASSERT_TRUE(WriteFile(path(), std::string(8192, 'x')).ok());
  Status damaged = OpenStatus(path());
  EXPECT_EQ(damaged.code(), Code::kDataLoss);
  EXPECT_NE(damaged.message().find(path() + " is damaged"), std::string::npos) << damaged.message();
  EXPECT_NE(damaged.message().find("backups/new.db"), std::string::npos) << damaged.message();
}

TEST_F(StoreAdminTest, TheCheckAtStartReportsDamageFromTheBackground) {
  for (int i = 0; i < 2000; i++) script_.Submit("a");
  Commit();
  ASSERT_TRUE(store_->Checkpoint().ok());
  store_.reset();
  std::string bytes = ReadFile(path()).value();
  for (size_t page = bytes.size() / 4096 * 3 / 4; page < bytes.size() / 4096; page++) bytes.replace(page * 4096, 8, 8, 'w');
  ASSERT_TRUE(WriteFile(path(), bytes).ok());
  std::atomic<bool> reported = false;
  StoreOptions with_check = options();
  with_check.background = true;
  with_check.on_damage = [&](Status status) { reported = status.code() == Code::kDataLoss; };
  Result<std::unique_ptr<Store>> opened = Store::Open(path(), with_check);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  for (int i = 0; i < 1000 && !reported; i++) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(reported);
}

TEST_F(StoreAdminTest, TheWalStaysBoundedUnderSteadyWriting) {
  store_.reset();
  StoreOptions small = options();
  small.background = true;
  small.checkpoint_bytes = 256 << 10;
  small.wal_limit_bytes = 2 << 20;
  store_ = Store::Open(path(), small).value();
  NodeId n1 = script_.AddNode("n1");
  JobId job = script_.Submit("array", 20000);
  int64_t largest = 0;
  for (uint32_t i = 0; i < 20000; i++) {
    script_.WholeLife({job, i}, n1);
    if (i % 100 != 99) continue;
    Commit();
    struct stat info;
    ASSERT_EQ(stat((path() + "-wal").c_str(), &info), 0);
    largest = std::max<int64_t>(largest, info.st_size);
  }
  EXPECT_LT(largest, 16 << 20);
  ExpectLoadsTheSame();
}

TEST(DataDirTest, OneHolderAtATimeAndTheSecondIsToldWhoHoldsIt) {
  std::string dir = "/tmp/gt_datadir_XXXXXX";
  ASSERT_NE(mkdtemp(dir.data()), nullptr);
  {
    Result<DataDirLock> first = DataDirLock::Take(dir + "/data");
    ASSERT_TRUE(first.ok()) << first.status().message();
    Status second = DataDirLock::Take(dir + "/data").status();
    EXPECT_EQ(second.code(), Code::kFailedPrecondition);
    EXPECT_EQ(second.message(), "another coordinator holds " + dir + "/data (pid " + std::to_string(getpid()) + ")");
  }
  EXPECT_TRUE(DataDirLock::Take(dir + "/data").ok());
  std::ignore = system(("rm -rf " + dir).c_str());
}

}  // namespace
}  // namespace gt
