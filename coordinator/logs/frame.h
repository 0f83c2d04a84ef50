// The unit on disk, in segments and in files of attempts alike: a header of 64 bytes and up to 256 KiB of data.
//
//   0 magic "GTL1"   4 CRC-32C of bytes 8..63   8 CRC-32C of the data   12 size of the data   16 uid (high, low)
//  32 offset        40 time (ms)               48 arrival              56 rank   60 stream   61 kind   62 zero
// Integers have the little end first. `arrival` counts the frames of all segments, and keeps its value when a frame is moved
// to a newer segment; in files of attempts the position says the order.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "coordinator/logs/log_store.h"

namespace gt::logs {

constexpr size_t kHeaderBytes = 64;
constexpr size_t kMaxData = 256 << 10;

enum class FrameKind : uint8_t {
  kData = 0,
  kNotice = 1,   // the data is a text for people; the stream goes on at `offset`
  kDeleted = 2,  // frames of this uid that arrived earlier are void
};

struct Frame {
  Uid uid;
  LogStream from;
  FrameKind kind = FrameKind::kData;
  uint64_t offset = 0;
  Millis time_wall = 0;
  uint64_t arrival = 0;
  uint32_t size = 0;
  uint32_t data_crc = 0;
  // Where its stream goes on.
  uint64_t end() const { return kind == FrameKind::kData ? offset + size : offset; }
};

void AppendFrame(std::string* out, const Frame& frame, std::string_view data);  // fills in size and CRCs
// False: not a header, or a torn one.
bool ReadHeader(std::string_view bytes, Frame* frame);

// Goes through the frames in bytes [from, size) of a file. Data is checked, and handed out, only for frames that end after
// `check_from`. Returns where the last whole frame ends: less than `size` when something behind it is torn.
Result<int64_t> ScanFrames(int fd, int64_t from, int64_t size, int64_t check_from,
                           const std::function<void(const Frame&, int64_t position)>& visit);
// One frame at a position. kDataLoss when it is not whole.
Result<std::string> ReadFrameAt(int fd, int64_t position, Frame* frame);

}  // namespace gt::logs
