// Deletes what is older than its retention. Internal to this room.
#pragma once
#include "coordinator/store/sqlite.h"

namespace gt {

// Inside a transaction of `db`; about `max_rows` rows at most. True: there is more to delete.
Result<bool> ExpireRows(sqlite::Database* db, Millis before_wall, uint32_t max_rows);

}  // namespace gt
