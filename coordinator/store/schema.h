// Numbered migrations: user_version counts the ones that are done. Internal to this room.
#pragma once
#include <string>

#include "coordinator/store/sqlite.h"

namespace gt {

constexpr int kSchemaVersion = 2;
constexpr int kApplicationId = 0x47545231;  // "GTR1"

// Makes the tables or brings them up, in one transaction. kFailedPrecondition: a newer schema, or not a file of ours.
// A new file gets `cluster_id`; a backup that is used for the first time gets counters that skip ahead.
Status Migrate(sqlite::Database* db, const std::string& path, const std::string& cluster_id);

}  // namespace gt
