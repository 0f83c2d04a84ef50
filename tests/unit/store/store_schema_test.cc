// Databases as earlier releases wrote them: fixtures/schemaN.sql, made by real programs of that release.
#include <gmock/gmock.h>
#include <sqlite3.h>

#include "common/os/file.h"
#include "tests/unit/store/fixture.h"

namespace gt {
namespace {

class StoreSchemaTest : public StoreTest {
 protected:
  void UseFixture(const std::string& name) {
    store_.reset();
    for (const char* suffix : {"", "-wal", "-shm"}) ASSERT_TRUE(RemoveFile(path() + suffix).ok());
    std::string sql = ReadFile(GT_STORE_FIXTURES "/" + name).value();
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path().c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
    Reopen();
  }
  std::vector<std::string> Names(const JobFilter& filter) {
    JobPage page = store_->ListJobs(filter).value();
    std::vector<std::string> names;
    for (const Job& job : page.jobs) names.push_back(job.name);
    return names;
  }
};

TEST_F(StoreSchemaTest, ADatabaseOfSchema1IsReadWhole) {
  UseFixture("schema1.sql");
  ClusterState state = store_->Load().value();
  EXPECT_THAT(Names({}), testing::ElementsAre("waiting-array", "waiting", "running"));
  EXPECT_THAT(Names({.all = true}), testing::ElementsAre("waiting-array", "waiting", "running", "cancelled", "array", "gang", "failed", "done"));
  ASSERT_EQ(state.nodes.size(), 2u);
  EXPECT_TRUE(std::any_of(state.nodes.begin(), state.nodes.end(), [](const auto& n) { return n.second.draining && n.second.drain_reason == "new disk"; }));
  ASSERT_EQ(state.attempts.size(), 1u);
  EXPECT_EQ(state.attempts.begin()->second.members.size(), 2u);
  EXPECT_EQ(state.attempts.begin()->second.phase, AttemptPhase::kRunning);

  Job failed = store_->GetJob({2}).value();
  EXPECT_EQ(failed.cause, Cause::kExitNonzero);
  std::vector<Attempt> attempts = store_->GetAttempts({{2}, 0}).value();
  ASSERT_EQ(attempts.size(), 2u);
  EXPECT_EQ(attempts[1].failure.code, 3);
  EXPECT_THAT(attempts[1].failure.tail, testing::HasSubstr("oops"));
  EXPECT_GE(store_->Events({2}, 0, 100)->size(), 6u);
  EXPECT_TRUE(store_->Check().ok());
}

}  // namespace
}  // namespace gt
