// What ranks print, between the pipe and the coordinator: one append-only byte sequence per node, cut into segment files.
//
// Format. A segment is a file <dir>/<16 hex digits>.spool, named after the offset of its first byte in the sequence; offsets
// only rise, over restarts too. It holds whole frames, back to back:
//   u32 magic "GTSP"  u32 payload bytes  u64 uid.high  u64 uid.low  u32 global rank  u8 stream (1 stdout, 2 stderr)
//   u8 kind (0 output, 1 notice of the launcher)  u16 zero  u64 stream offset  u32 CRC-32 of the 40 bytes before  u32 zero
//   payload
// The stream offset counts the bytes kept of this (attempt, rank, stream): frames of a stream are contiguous, notices are
// part of it, and the final size stands in the exit record. SpoolAdvance says how far frames reach. Offsets jump at each
// start of a launcher (what an acknowledgement covered may be lost with the page cache at a reboot, and must not be named
// twice); an offset between two segments means the start of the later one.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/base/time.h"
#include "common/os/fd.h"

namespace gt::launcher {

enum class Stream : uint8_t { kStdout = 1, kStderr = 2 };
constexpr size_t kSpoolHeader = 48;
constexpr size_t kMaxSpoolPayload = 256u << 10;              // of a frame
constexpr uint64_t kMaxStreamOffset = uint64_t{1} << 60;     // the coordinator takes no larger one

struct SpoolFrame {
  Uid uid;
  uint32_t rank = 0;
  Stream stream = Stream::kStdout;
  bool notice = false;
  uint64_t stream_offset = 0;
  std::string bytes;
  uint64_t next = 0;  // where the frame after this one starts: what to acknowledge once this one is safe
};

// Reads segment files while the launcher appends to them. One thread.
class SpoolReader {
 public:
  explicit SpoolReader(std::string dir) : dir_(std::move(dir)) {}
  // Whole frames from `from` (0, a `next`, or any acknowledged offset) and below `end` (from SpoolAdvance), at least one if
  // there is one, then as many as fit `limit` payload bytes. Empty: nothing below `end`. A `from` whose segment is gone
  // continues at the oldest segment. kDataLoss: a frame is broken (its segment should be skipped: SkipSegment).
  Result<std::vector<SpoolFrame>> Next(uint64_t from, uint64_t end, size_t limit);
  // Where the segment after the one that holds `offset` starts; `end` when there is none.
  Result<uint64_t> SkipSegment(uint64_t offset, uint64_t end);

 private:
  Status Seek(uint64_t offset);
  Result<bool> ReadFrame(uint64_t end, SpoolFrame* frame);
  std::string dir_;
  Fd file_;
  uint64_t start_ = 0;  // of the open segment
  uint64_t at_ = 0;     // >= start_: where to read
};

struct SpoolLimits {
  int64_t segment = 64ll << 20;
  int64_t node = 10ll << 30;  // unacknowledged bytes of all ranks
  int64_t rank = 1ll << 30;   // kept bytes per rank, both streams
};

// Appends. One thread (the disk thread). Never fails towards its caller: what cannot be kept is counted and a notice
// is put into the stream as soon as that is possible. Each segment keeps its last 64 KiB for notices, so that there is room
// for them when the disk is full.
class SpoolWriter {
 public:
  SpoolWriter(std::string dir, SpoolLimits limits) : dir_(std::move(dir)), limits_(limits) {}
  // Finds the end of what an earlier launcher left (a torn last frame is cut off).
  Status Open();

  // The streams of a rank that was on another node before start at `offset`. Before its first Append.
  void Begin(const Uid& uid, uint32_t rank, int64_t offset) { ranks_[{uid, rank}].base = offset; }
  void Append(const Uid& uid, uint32_t rank, Stream stream, std::string_view bytes, Millis now);
  // Hands everything to the kernel. Call after each batch.
  void Flush(Millis now);
  // Offset below which all frames are in the files.
  uint64_t end() const { return flushed_; }
  // Deletes whole segments below `offset`.
  void Acknowledge(uint64_t offset);

  struct Sizes {
    int64_t stdout_bytes = 0, stderr_bytes = 0, lost = 0;
  };
  // No more output of this rank comes: writes its last notice, forgets it. Call Flush afterwards.
  Sizes Finish(const Uid& uid, uint32_t rank, Millis now);
  // For attempts of an earlier launcher: sizes by the frames that are still here, -1 where there are none.
  std::map<std::pair<Uid, uint32_t>, Sizes> Recover() const;
  // Why output is being dropped now ("" when it is not).
  const std::string& trouble() const { return trouble_; }

 private:
  struct RankState {
    int64_t base = 0;       // where both streams start
    int64_t kept[2] = {0, 0};
    int64_t lost = 0;       // in all
    int64_t unnoticed = 0;  // lost since the last notice
    bool cut = false;       // the stream carries a notice that output is missing from here on
    Stream cut_stream = Stream::kStdout;
  };
  using Key = std::pair<Uid, uint32_t>;
  struct Segment { uint64_t start; int64_t size; };
  struct Pending { RankState* rank; Stream stream; int64_t size; bool notice; };  // a frame in buffer_

  void Put(const Key& key, RankState* state, Stream stream, bool notice, std::string_view bytes);
  void Lose(const Key& key, RankState* state, Stream stream, size_t bytes, const std::string& why, Millis now);
  void NoticeLoss(const Key& key, RankState* state, Millis now);
  bool MakeRoom(size_t bytes, bool notice, Millis now);
  Status Roll(Millis now);
  int64_t NodeBytes() const;
  std::string PathOf(uint64_t start) const;

  std::string dir_;
  SpoolLimits limits_;
  Fd file_;                        // of the last segment; not valid until something is to be written
  std::vector<Segment> segments_;  // oldest first
  int64_t segment_room_ = 0;       // of the open one: less than limits_.segment where the disk is nearly full
  uint64_t next_start_ = 0;        // of the next segment while file_ is not valid
  uint64_t flushed_ = 0;
  std::string buffer_;             // frames from flushed_ on
  std::vector<Pending> pending_;
  std::string trouble_;
  Millis retry_ = 0;               // no further try for a new segment before
  std::map<Key, RankState> ranks_;
};

// ---- shared by writer and reader ----
std::string SpoolHeader(const SpoolFrame& frame, size_t payload);
// Payload bytes, at most kMaxSpoolPayload, or -1 when these 48 bytes are no header.
int64_t ParseSpoolHeader(std::string_view header, SpoolFrame* frame);
// Starts of the segments in a directory, ascending.
Result<std::vector<uint64_t>> ListSegments(const std::string& dir);
std::string SegmentPath(const std::string& dir, uint64_t start);

}  // namespace gt::launcher
