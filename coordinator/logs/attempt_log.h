// What memory knows of one attempt's output: where its frames lie and how far each stream goes. Internal to this room.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "coordinator/logs/frame.h"

namespace gt::logs {

// A frame in a segment.
struct SmallRef {
  std::string path;
  uint64_t position = 0;
  uint64_t arrival = 0;
};

// A place in the attempt's own file, and how far each stream had come there.
struct Point {
  int64_t position = 0;
  std::vector<uint64_t> ends;  // by ordinal; streams that came later: 0
};

constexpr int64_t kPointEvery = 512 << 10;

struct AttemptLog {
  Uid uid;
  std::string own_path;            // the file need not exist: own_bytes says
  std::vector<SmallRef> small;     // by arrival
  int64_t small_data = 0;          // bytes of data in segments
  int64_t own_bytes = 0;           // of its own file
  std::vector<Point> points;
  std::vector<LogStream> streams;  // by ordinal
  std::vector<uint64_t> ends;      // by ordinal
  uint64_t used = 0;               // when it was last asked for

  size_t OrdinalOf(LogStream from);           // made when it is new
  uint64_t EndOf(LogStream from) const;       // 0: nothing yet
  LogCursors Sizes() const;
  int64_t TotalBytes() const { return small_data + own_bytes; }
  // Called for each frame in order of arrival, in segments first.
  void NoteSmall(const Frame& frame, const std::string& path, uint64_t position);
  void NoteOwn(const Frame& frame, int64_t position);
  // Forgets all before a tombstone.
  void Clear();
};

}  // namespace gt::logs
