// Schema 2: gangs that re-form in place. Never edited once released.
#pragma once

namespace gt {

constexpr char kMigration002[] = R"sql(
-- Of attempts whose ranks have formed a group that can re-form; the others have none.
CREATE TABLE reform(
  attempt INTEGER PRIMARY KEY,
  formed INTEGER NOT NULL,           -- newest generation that all ranks have joined
  born_pack BLOB,                    -- by rank: the generation of its process; NULL: all in the first
  former_pack BLOB,                  -- nodes that have lost their part
  since INTEGER NOT NULL,            -- while a generation is awaited; else 0
  why TEXT
);
)sql";

}  // namespace gt
