// The little of SQLite's C interface that the store needs, with owners and Status. Internal to this room and its tests.
// A Database and its statements belong to one thread at a time.
#pragma once
#include <sqlite3.h>

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "common/base/ids.h"
#include "common/base/status.h"

namespace gt::sqlite {

// kResourceExhausted for a full disk or quota, kDataLoss for a damaged file, kUnavailable for a lock that others hold,
// else kInternal.
Status ErrorOf(sqlite3* db, int rc, const std::string& what);

class Statement {
 public:
  Statement() = default;
  explicit Statement(sqlite3_stmt* stmt) : stmt_(stmt) {}

  // Parameters count from 1. Texts and blobs are not copied: they must live until the statement is reset.
  void Bind(int i, int64_t value) { sqlite3_bind_int64(stmt_.get(), i, value); }
  void Bind(int i, std::string_view text) {
    sqlite3_bind_text(stmt_.get(), i, text.data() != nullptr ? text.data() : "", static_cast<int>(text.size()), SQLITE_STATIC);
  }
  void BindBlob(int i, std::string_view bytes) {  // empty: NULL
    if (bytes.empty()) sqlite3_bind_null(stmt_.get(), i);
    else sqlite3_bind_blob(stmt_.get(), i, bytes.data(), static_cast<int>(bytes.size()), SQLITE_STATIC);
  }
  void BindOptional(int i, std::string_view text) {  // empty: NULL
    if (text.empty()) sqlite3_bind_null(stmt_.get(), i);
    else Bind(i, text);
  }
  void BindNull(int i) { sqlite3_bind_null(stmt_.get(), i); }

  Result<bool> Step();   // true: a row is there; false: done
  Status Run();          // to the end, then ready to be bound again
  void Reset() { sqlite3_reset(stmt_.get()); }

  // Columns count from 0; NULL reads as 0 or empty.
  int64_t Int(int i) const { return sqlite3_column_int64(stmt_.get(), i); }
  bool IsNull(int i) const { return sqlite3_column_type(stmt_.get(), i) == SQLITE_NULL; }
  std::string_view View(int i) const;  // valid until the next step
  std::string Text(int i) const { return std::string(View(i)); }

  bool valid() const { return stmt_ != nullptr; }

 private:
  struct Finalize { void operator()(sqlite3_stmt* s) const { sqlite3_finalize(s); } };
  std::unique_ptr<sqlite3_stmt, Finalize> stmt_;
};

class Database {
 public:
  // `flags` as of sqlite3_open_v2; SQLITE_OPEN_NOMUTEX is added. `vfs` empty: the system's.
  static Result<Database> Open(const std::string& path, int flags, const std::string& vfs);

  Status Exec(const std::string& sql);  // statements without parameters or wanted rows
  Result<int64_t> QueryInt(const std::string& sql);
  Result<Statement> Prepare(const char* sql);
  // Prepared once for this connection and reset; `sql` must be a literal: its address is the key.
  Result<Statement*> Cached(const char* sql);

  sqlite3* get() const { return db_.get(); }
  Status Error(int rc, const std::string& what) const { return ErrorOf(db_.get(), rc, what); }

 private:
  struct Close { void operator()(sqlite3* db) const { sqlite3_close_v2(db); } };
  std::unique_ptr<sqlite3, Close> db_;
  std::unordered_map<const char*, Statement> cache_;  // destroyed before db_
};

// Resets a statement when the reader of its rows leaves, so that no read transaction stays open.
class ResetLater {
 public:
  explicit ResetLater(Statement* statement) : statement_(statement) {}
  ~ResetLater() { statement_->Reset(); }
  ResetLater(const ResetLater&) = delete;
  ResetLater& operator=(const ResetLater&) = delete;

 private:
  Statement* statement_;
};

}  // namespace gt::sqlite
