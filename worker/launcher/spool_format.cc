// The frame header and the segment names of the spool.
#include <cstdio>
#include <cstring>

#include "common/os/file.h"
#include "worker/launcher/crc32.h"
#include "worker/launcher/spool.h"
#include "worker/launcher/wire.h"

namespace gt::launcher {

namespace {
constexpr uint32_t kMagic = 0x50535447;  // "GTSP"
constexpr size_t kChecked = kSpoolHeader - 2 * sizeof(uint32_t);
constexpr std::string_view kSuffix = ".spool";
}  // namespace

std::string SpoolHeader(const SpoolFrame& frame, size_t payload) {
  std::string header;
  Writer write(&header);
  write(kMagic, static_cast<uint32_t>(payload), frame.uid, frame.rank, frame.stream, frame.notice, uint16_t{0},
        frame.stream_offset);
  write(Crc32(header), uint32_t{0});
  GT_ASSERT(header.size() == kSpoolHeader);
  return header;
}

int64_t ParseSpoolHeader(std::string_view header, SpoolFrame* frame) {
  if (header.size() < kSpoolHeader) return -1;
  uint32_t magic = 0, payload = 0, crc = 0;
  uint16_t zero = 0;
  Reader read(header);
  read(magic, payload, frame->uid, frame->rank, frame->stream, frame->notice, zero, frame->stream_offset, crc);
  if (magic != kMagic || crc != Crc32(header.substr(0, kChecked))) return -1;
  bool possible = payload <= kMaxSpoolPayload && frame->stream_offset <= kMaxStreamOffset &&
                  (frame->stream == Stream::kStdout || frame->stream == Stream::kStderr);
  return possible ? int64_t{payload} : -1;
}

Result<std::vector<uint64_t>> ListSegments(const std::string& dir) {
  GT_ASSIGN_OR_RETURN(auto names, ListDirectory(dir));
  std::vector<uint64_t> starts;  // names have a fixed width, so their order is that of the offsets
  for (const std::string& name : names) {
    uint64_t start = 0;
    int used = 0;
    if (name.size() != 16 + kSuffix.size() || sscanf(name.c_str(), "%16lx%n", &start, &used) != 1 || used != 16) continue;
    if (name.substr(16) == kSuffix) starts.push_back(start);
  }
  return starts;
}

std::string SegmentPath(const std::string& dir, uint64_t start) {
  char name[17];
  snprintf(name, sizeof name, "%016lx", start);
  return dir + "/" + name + std::string(kSuffix);
}

}  // namespace gt::launcher
