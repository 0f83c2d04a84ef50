#include "coordinator/logs/frame.h"

#include <algorithm>
#include <cstring>

#include "common/base/crc32c.h"
#include "common/os/file.h"

namespace gt::logs {
namespace {

constexpr uint32_t kMagic = 0x314C5447;  // "GTL1"

template <typename Int>
void Put(char* at, Int value) {
  for (size_t i = 0; i < sizeof(Int); i++) at[i] = static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
}
template <typename Int>
Int Get(const char* at) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(Int); i++) value |= static_cast<uint64_t>(static_cast<unsigned char>(at[i])) << (8 * i);
  return static_cast<Int>(value);
}

}  // namespace

void AppendFrame(std::string* out, const Frame& frame, std::string_view data) {
  char header[kHeaderBytes] = {};
  Put(header, kMagic);
  Put(header + 8, Crc32c(data));
  Put(header + 12, static_cast<uint32_t>(data.size()));
  Put(header + 16, frame.uid.high);
  Put(header + 24, frame.uid.low);
  Put(header + 32, frame.offset);
  Put(header + 40, frame.time_wall);
  Put(header + 48, frame.arrival);
  Put(header + 56, frame.from.rank);
  Put(header + 60, static_cast<uint8_t>(frame.from.stream));
  Put(header + 61, static_cast<uint8_t>(frame.kind));
  Put(header + 4, Crc32c({header + 8, kHeaderBytes - 8}));
  out->append(header, kHeaderBytes);
  out->append(data);
}

bool ReadHeader(std::string_view bytes, Frame* frame) {
  if (bytes.size() < kHeaderBytes) return false;
  const char* at = bytes.data();
  if (Get<uint32_t>(at) != kMagic || Get<uint32_t>(at + 4) != Crc32c(bytes.substr(8, kHeaderBytes - 8))) return false;
  frame->data_crc = Get<uint32_t>(at + 8);
  frame->size = Get<uint32_t>(at + 12);
  frame->uid = {Get<uint64_t>(at + 16), Get<uint64_t>(at + 24)};
  frame->offset = Get<uint64_t>(at + 32);
  frame->time_wall = Get<Millis>(at + 40);
  frame->arrival = Get<uint64_t>(at + 48);
  frame->from = {Get<uint32_t>(at + 56), Get<uint8_t>(at + 60)};
  uint8_t kind = Get<uint8_t>(at + 61);
  frame->kind = static_cast<FrameKind>(kind);
  return kind <= static_cast<uint8_t>(FrameKind::kDeleted) && frame->size <= kMaxData;
}

Result<int64_t> ScanFrames(int fd, int64_t from, int64_t size, int64_t check_from,
                           const std::function<void(const Frame&, int64_t position)>& visit) {
  constexpr size_t kSkim = 4 << 10;
  std::string buffer;
  int64_t buffer_at = from, position = from;
  // Bytes of the buffer from `position` on, at least `need` of them unless the file ends.
  auto at_least = [&](size_t need) -> Result<std::string_view> {
    int64_t skip = position - buffer_at;
    if (skip + static_cast<int64_t>(need) > static_cast<int64_t>(buffer.size())) {
      GT_ASSIGN_OR_RETURN(buffer, ReadAt(fd, position, std::max(need, kSkim)));
      buffer_at = position;
      skip = 0;
    }
    return std::string_view(buffer).substr(static_cast<size_t>(skip));
  };
  while (position < size) {
    Frame frame;
    GT_ASSIGN_OR_RETURN(std::string_view bytes, at_least(kHeaderBytes));
    if (!ReadHeader(bytes, &frame)) return position;
    int64_t end = position + static_cast<int64_t>(kHeaderBytes + frame.size);
    if (end > size) return position;
    if (end > check_from) {
      GT_ASSIGN_OR_RETURN(bytes, at_least(kHeaderBytes + frame.size));
      bool whole = bytes.size() >= kHeaderBytes + frame.size;
      if (!whole || Crc32c(bytes.substr(kHeaderBytes, frame.size)) != frame.data_crc) return position;
    }
    visit(frame, position);
    position = end;
  }
  return position;
}

Result<std::string> ReadFrameAt(int fd, int64_t position, Frame* frame) {
  constexpr size_t kGuess = 4 << 10;
  GT_ASSIGN_OR_RETURN(std::string bytes, ReadAt(fd, position, kGuess));
  if (!ReadHeader(bytes, frame)) return Status(Code::kDataLoss, "a frame of a log is damaged");
  size_t whole = kHeaderBytes + frame->size;
  if (bytes.size() < whole) {
    GT_ASSIGN_OR_RETURN(bytes, ReadAt(fd, position, whole));
  }
  if (bytes.size() < whole || Crc32c(std::string_view(bytes).substr(kHeaderBytes, frame->size)) != frame->data_crc)
    return Status(Code::kDataLoss, "a frame of a log is damaged");
  return bytes.substr(kHeaderBytes, frame->size);
}

}  // namespace gt::logs
