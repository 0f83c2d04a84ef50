// Segments: files of frames of all attempts. The newest is appended to; a full one is sealed: beside <n>.log lies then
// <n>.idx, by which the frames of an attempt are found without memory for them.
//
// <n>.idx: magic "GTX1", CRC-32C of all that follows it, count, size of the .log, when it was sealed (ms), highest arrival (8
// bytes each), then per frame uid (high, low), position, sorted. Anything wrong with it: it is made again from the .log.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/os/fd.h"
#include "coordinator/logs/frame.h"

namespace gt::logs {

struct IndexEntry {
  Uid uid;
  uint64_t position = 0;
  auto operator<=>(const IndexEntry&) const = default;
};

class SealedSegment {
 public:
  // Opens the index, or makes it from the frames.
  static Result<std::unique_ptr<SealedSegment>> Open(const std::string& log_path);
  static Status WriteIndex(const std::string& log_path, std::vector<IndexEntry> entries, int64_t log_bytes, Millis sealed_wall,
                           uint64_t max_arrival);
  ~SealedSegment();

  const std::string& path() const { return path_; }
  std::vector<uint64_t> Find(const Uid& uid) const;  // positions of its frames
  std::vector<Uid> Uids() const;
  Millis sealed_wall() const { return sealed_wall_; }
  uint64_t max_arrival() const { return max_arrival_; }
  int64_t bytes() const { return log_bytes_ + static_cast<int64_t>(map_bytes_); }

 private:
  SealedSegment() = default;
  Status Map(const std::string& index_path);
  const IndexEntry* begin() const;
  const IndexEntry* end() const { return begin() + count_; }

  std::string path_;
  void* map_ = nullptr;
  size_t map_bytes_ = 0;
  uint64_t count_ = 0, max_arrival_ = 0;
  int64_t log_bytes_ = 0;
  Millis sealed_wall_ = 0;
};

std::string IndexPathOf(const std::string& log_path);  // "x.log" -> "x.idx"

// The segment that is written. Not thread-safe.
struct ActiveSegment {
  std::string path;
  Fd fd;
  int64_t size = 0;
  uint64_t max_arrival = 0;
  std::unordered_map<Uid, std::vector<uint64_t>> positions;

  // Opens or makes it; what is torn at its end is cut off.
  static Result<ActiveSegment> Open(const std::string& path);
  std::vector<IndexEntry> Entries() const;
};

}  // namespace gt::logs
