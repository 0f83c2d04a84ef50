#include "coordinator/store/schema.h"

#include <array>

#include "coordinator/store/migrations/001_initial.h"
#include "coordinator/store/migrations/002_reform.h"

namespace gt {
namespace {

constexpr std::array<const char*, kSchemaVersion> kMigrations = {kMigration001, kMigration002};

// What was handed out after the copy was made must not be handed out again: ids that people have seen, epochs that workers
// obey.
constexpr char kNewIncarnation[] =
    "UPDATE meta SET is_backup = 0, incarnation = incarnation + 1, epoch = epoch + 1000, next_job = next_job + 100000, "
    "next_node = next_node + 1000 WHERE is_backup = 1";

Status InsertMeta(sqlite::Database* db, const std::string& cluster_id) {
  GT_ASSIGN_OR_RETURN(sqlite::Statement insert, db->Prepare("INSERT INTO meta VALUES (1, ?, 0, 1, 1, 1, 0)"));
  insert.Bind(1, cluster_id);
  return insert.Run();
}

Status Upgrade(sqlite::Database* db, int64_t version, const std::string& cluster_id) {
  for (int64_t i = version; i < kSchemaVersion; i++) GT_RETURN_IF_ERROR(db->Exec(kMigrations[i]));
  if (version == 0) GT_RETURN_IF_ERROR(InsertMeta(db, cluster_id));
  if (version < kSchemaVersion) {
    GT_RETURN_IF_ERROR(db->Exec("PRAGMA application_id = " + std::to_string(kApplicationId)));
    GT_RETURN_IF_ERROR(db->Exec("PRAGMA user_version = " + std::to_string(kSchemaVersion)));
  }
  return db->Exec(kNewIncarnation);
}

}  // namespace

Status Migrate(sqlite::Database* db, const std::string& path, const std::string& cluster_id) {
  GT_ASSIGN_OR_RETURN(int64_t version, db->QueryInt("PRAGMA user_version"));
  GT_ASSIGN_OR_RETURN(int64_t tables, db->QueryInt("SELECT count(*) FROM sqlite_schema"));
  GT_ASSIGN_OR_RETURN(int64_t application, db->QueryInt("PRAGMA application_id"));
  if (tables > 0 && application != kApplicationId) {
    return {Code::kFailedPrecondition, path + " is not a database of GridTrain"};
  }
  if (version > kSchemaVersion) {
    return {Code::kFailedPrecondition, path + " was written by a newer gt-coordinator (schema " + std::to_string(version) +
                                           ", this one knows " + std::to_string(kSchemaVersion) + ")"};
  }
  if (version == 0) GT_RETURN_IF_ERROR(db->Exec("PRAGMA auto_vacuum = INCREMENTAL"));  // only before the first page
  GT_RETURN_IF_ERROR(db->Exec("PRAGMA journal_mode = WAL"));
  GT_RETURN_IF_ERROR(db->Exec("PRAGMA synchronous = FULL"));
  if (version == kSchemaVersion) {
    GT_ASSIGN_OR_RETURN(int64_t is_backup, db->QueryInt("SELECT is_backup FROM meta"));
    if (is_backup == 0) return OkStatus();
  }
  GT_RETURN_IF_ERROR(db->Exec("BEGIN IMMEDIATE"));
  Status done = Upgrade(db, version, cluster_id);
  if (done.ok()) done = db->Exec("COMMIT");
  if (!done.ok() && sqlite3_get_autocommit(db->get()) == 0) std::ignore = db->Exec("ROLLBACK");
  return done;
}

}  // namespace gt
