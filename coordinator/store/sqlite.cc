#include "coordinator/store/sqlite.h"

#include <cerrno>
#include <tuple>

namespace gt::sqlite {

Status ErrorOf(sqlite3* db, int rc, const std::string& what) {
  int error = db != nullptr ? sqlite3_system_errno(db) : 0;
  std::string message = what + ": " + (db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(rc));
  switch (rc & 0xff) {
    case SQLITE_FULL:
      return {Code::kResourceExhausted, message};
    case SQLITE_IOERR:
      // A shared memory file that cannot grow says only that.
      if (error == ENOSPC || error == EDQUOT || rc == SQLITE_IOERR_SHMSIZE) return {Code::kResourceExhausted, message};
      return {Code::kInternal, message + " (" + ErrnoStatus(error, "system").message() + ")"};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return {Code::kDataLoss, message};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {Code::kUnavailable, message};
    default:
      return {Code::kInternal, message};
  }
}

Result<bool> Statement::Step() {
  int rc = sqlite3_step(stmt_.get());
  if (rc == SQLITE_ROW) return true;
  if (rc == SQLITE_DONE) return false;
  sqlite3* db = sqlite3_db_handle(stmt_.get());
  Status status = ErrorOf(db, sqlite3_extended_errcode(db), sqlite3_sql(stmt_.get()));
  sqlite3_reset(stmt_.get());
  return status;
}

Status Statement::Run() {
  for (;;) {
    Result<bool> row = Step();
    if (!row.ok()) return row.status();
    if (*row) continue;
    sqlite3_reset(stmt_.get());
    return OkStatus();
  }
}

std::string_view Statement::View(int i) const {
  const void* data = sqlite3_column_blob(stmt_.get(), i);  // for text too: its bytes as they are
  if (data == nullptr) return {};
  return {static_cast<const char*>(data), static_cast<size_t>(sqlite3_column_bytes(stmt_.get(), i))};
}

// Statistics of memory would take a lock at each allocation. Too late, and harmless, when somebody has used SQLite before.
void KeepNoStatistics() {
  static const int done = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  std::ignore = done;
}

Result<Database> Database::Open(const std::string& path, int flags, const std::string& vfs) {
  KeepNoStatistics();
  sqlite3* raw = nullptr;
  int rc = sqlite3_open_v2(path.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX, vfs.empty() ? nullptr : vfs.c_str());
  Database db;
  db.db_.reset(raw);
  if (rc != SQLITE_OK) return ErrorOf(raw, rc, path);
  sqlite3_extended_result_codes(raw, 1);
  return db;
}

Status Database::Exec(const std::string& sql) {
  int rc = sqlite3_exec(db_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (rc != SQLITE_OK) return Error(rc, sql.substr(0, 80));
  return OkStatus();
}

Result<int64_t> Database::QueryInt(const std::string& sql) {
  GT_ASSIGN_OR_RETURN(Statement statement, Prepare(sql.c_str()));
  GT_ASSIGN_OR_RETURN(bool row, statement.Step());
  if (!row) return Status(Code::kNotFound, "no row: " + sql);
  return statement.Int(0);
}

Result<Statement> Database::Prepare(const char* sql) {
  sqlite3_stmt* stmt = nullptr;
  int rc = sqlite3_prepare_v3(db_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt, nullptr);
  if (rc != SQLITE_OK) return Error(rc, std::string(sql).substr(0, 80));
  return Statement(stmt);
}

Result<Statement*> Database::Cached(const char* sql) {
  auto found = cache_.find(sql);
  if (found == cache_.end()) {
    GT_ASSIGN_OR_RETURN(Statement statement, Prepare(sql));
    found = cache_.emplace(sql, std::move(statement)).first;
  }
  found->second.Reset();
  return &found->second;
}

}  // namespace gt::sqlite
