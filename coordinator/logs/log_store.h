// What ranks printed. Appended by offset, so that sending twice is harmless; read by offset, so that a reader that broke off
// loses and repeats nothing. Formats on disk: frame.h, segment.h.
//
// The first 16 KiB of an attempt lie in segments that all attempts share, so that a task that prints a line costs no file;
// what follows goes to a file of the attempt's own. One owner of the directory; every method is for any thread.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/base/time.h"

namespace gt {

constexpr uint32_t kStdout = 1, kStderr = 2;
// Where a stream ends that was cut because its attempt printed too much: beyond any real offset.
constexpr uint64_t kLogCut = 1ull << 62;

// One thing that a rank writes to.
struct LogStream {
  uint32_t rank = 0;
  uint32_t stream = kStdout;
  auto operator<=>(const LogStream&) const = default;
};

// A piece of output on its way in; `data` is borrowed for the call.
struct LogInput {
  Uid uid;
  LogStream from;
  uint64_t offset = 0;        // of its first byte in its stream
  std::string_view data;
  Millis time_wall = 0;       // when it was read from the pipe
};

// A piece of output on its way out.
struct LogPiece {
  LogStream from;
  uint64_t offset = 0;
  std::string data;
  Millis time_wall = 0;
  std::string notice;         // not output: what is missing here, for people; `data` is empty and `offset` is where it goes on
};

// Where a reader is: the next byte of each stream. Streams that are not named start at 0.
using LogCursors = std::map<LogStream, uint64_t>;

struct LogSelection {
  std::vector<uint32_t> ranks;    // empty: all
  std::vector<uint32_t> streams;  // empty: all
  bool Has(const LogStream& from) const;
};

struct LogStoreOptions {
  int64_t small_bytes = 16 << 10;          // of an attempt, in shared segments
  int64_t segment_bytes = 16 << 20;
  int64_t attempt_limit_bytes = 16ll << 30;  // what comes after it is dropped, with a notice
  int64_t min_free_bytes = 0;              // below it appends are refused
  size_t attempts_in_memory = 4096;        // indices kept for attempts that are not being written or read
};

class LogStore {
 public:
  // Makes `dir` when it is missing; repairs what a crash left: a torn tail is cut back to the last whole frame.
  static Result<std::unique_ptr<LogStore>> Open(const std::string& dir, LogStoreOptions options);
  ~LogStore();
  LogStore(const LogStore&) = delete;
  LogStore& operator=(const LogStore&) = delete;

  // On disk (fdatasync, shared with whoever appends at the same time) when ok. What is stored already is dropped; a gap is
  // recorded as a notice. At most 8 MiB a call. kResourceExhausted: no space, nothing of it was stored, send it again later.
  // kInternal: the disk failed; every later append fails too.
  Status Append(std::span<const LogInput> inputs);

  // How much of each stream there is; empty when nothing of the attempt is known.
  Result<LogCursors> Sizes(const Uid& uid);
  // From `offset` on, at most `limit` bytes (1 to 8 MiB), in stream order. Empty at the end.
  Result<std::vector<LogPiece>> Read(const Uid& uid, LogStream from, uint64_t offset, size_t limit);
  // All selected streams in the order in which they were printed, as far as the nodes' clocks tell it (by time, then by
  // arrival, within a window of 1 MiB); each stream by itself is always in order. Advances `cursors`.
  Result<std::vector<LogPiece>> ReadMerged(const Uid& uid, const LogSelection& selection, LogCursors* cursors, size_t limit);
  // Cursors from which ReadMerged gives the last `lines` lines (at most 100,000, and at most 16 MiB of them).
  Result<LogCursors> Tail(const Uid& uid, const LogSelection& selection, uint64_t lines);

  // `changed` is called after each append to the attempt, on the appender's thread; it must not block or call back in here
  // except for Unfollow. After Unfollow has returned it is not called any more.
  uint64_t Follow(const Uid& uid, std::function<void()> changed);
  void Unfollow(uint64_t follower);

  // The attempt's output is gone for readers at once; its space in shared segments comes back with Expire.
  Status DeleteAttempt(const Uid& uid);
  // Deletes what was written before `cutoff_wall`, except of attempts that `keep` names.
  Status Expire(Millis cutoff_wall, const std::function<bool(const Uid&)>& keep);
  // Bytes on disk.
  int64_t TotalBytes() const;

 private:
  struct Impl;
  explicit LogStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace gt
