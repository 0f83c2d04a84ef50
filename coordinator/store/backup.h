// Copies and checks of the whole file. Internal to this room.
#pragma once
#include <string>

#include "coordinator/store/sqlite.h"

namespace gt {

// Copies `from` to `path`, which must not exist: written aside, synced, renamed. The copy is marked as a backup.
Status WriteBackup(sqlite::Database* from, const std::string& path);
// quick_check. kDataLoss names `path`, the damage and the newest backup that lies near it.
Status QuickCheck(sqlite::Database* db, const std::string& path);
// The words for a damaged file.
Status Damaged(const std::string& path, const std::string& what);

}  // namespace gt
