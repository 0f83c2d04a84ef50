// A few read-only connections that any thread borrows for one call. Internal to this room.
#pragma once
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <vector>

#include "coordinator/store/sqlite.h"

namespace gt {

class ReadPool {
 public:
  ReadPool(std::string path, std::string vfs, int size) : path_(std::move(path)), vfs_(std::move(vfs)), unopened_(size) {}

  // Runs read(Database*) on one snapshot. kUnavailable when every connection is busy for 10 s.
  template <typename Read>
  auto With(Read read) -> std::invoke_result_t<Read, sqlite::Database*> {
    Result<std::unique_ptr<sqlite::Database>> db = Borrow();
    if (!db.ok()) return db.status();
    Status begun = (*db)->Exec("BEGIN");
    if (!begun.ok()) {
      Return(std::move(*db), false);
      return begun;
    }
    auto result = read(db->get());
    bool clean = (*db)->Exec("COMMIT").ok();
    Return(std::move(*db), clean);
    return result;
  }

 private:
  Result<std::unique_ptr<sqlite::Database>> Borrow();
  void Return(std::unique_ptr<sqlite::Database> db, bool clean);  // not clean: closed, another may be opened

  const std::string path_, vfs_;
  std::mutex mutex_;
  std::condition_variable returned_;
  int unopened_;                                          // guarded by mutex_
  std::vector<std::unique_ptr<sqlite::Database>> idle_;   // guarded by mutex_
};

}  // namespace gt
