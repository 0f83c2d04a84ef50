// Chunks of what ranks printed, as lines for people; and the cursors from which a broken-off reader goes on. Pure.
//
// Output of one rank passes through as it is, byte for byte. Of several ranks, and with prefix or timestamps, lines are put
// together per rank and stream, so that none is torn by another; one that has no end yet waits for it (at most
// kMaxHeldLine bytes; Flush() prints what waits).
#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "common/base/time.h"
#include "gridtrain/v1/jobs_service.pb.h"

namespace gt {

constexpr size_t kMaxHeldLine = 64u << 10;

struct LogStyle {
  bool prefix = false;      // "[rank 3] "
  bool timestamps = false;  // RFC 3339 UTC of when the line was read on its node
  bool json = false;        // one JSON object a line
  bool whole_lines = false; // several ranks print
  int stream = 0;           // only 1 (stdout) or 2 (stderr); 0: both
};

class LogPrinter {
 public:
  using Sink = std::function<void(std::string_view)>;
  LogPrinter(LogStyle style, Sink out) : style_(style), out_(std::move(out)) {}

  // Prints what of `chunk` was not printed before: what is sent again is dropped by its offset.
  void Add(const gridtrain::v1::LogChunk& chunk);
  void Flush();

  // Sets where reading goes on.
  void FillCursors(gridtrain::v1::ReadLogsRequest* request) const;
  bool empty() const { return streams_.empty(); }

 private:
  using Key = std::tuple<uint64_t, uint64_t, uint32_t, uint32_t>;  // uid, rank, stream
  struct Stream {
    uint64_t next = 0;  // offset of the next byte
    std::string held;   // a line without its end
    Millis time = 0;    // of the held line's first byte
    uint32_t attempt = 0;
    std::string node;
  };
  void Lines(const Key& key, Stream* stream, std::string_view data, Millis time);
  bool AsItIs() const { return !style_.prefix && !style_.timestamps && !style_.json; }
  void Line(const Key& key, const Stream& stream, std::string_view text);

  LogStyle style_;
  Sink out_;
  std::map<Key, Stream> streams_;
};

}  // namespace gt
