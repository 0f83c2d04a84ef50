// Any bytes as a file of log frames: what is found are whole frames, one after the other from the front, each as it would
// be written, and each found by its position too. Also with right checksums. Input: how they are treated, then the bytes.
#include <sys/mman.h>

#include <vector>

#include "common/base/assert.h"
#include "common/os/fd.h"
#include "common/os/file.h"
#include "coordinator/logs/frame.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/log_files.h"

namespace gt::logs {
namespace {

bool Same(const Frame& a, const Frame& b) {
  return a.uid == b.uid && a.from == b.from && a.kind == b.kind && a.offset == b.offset && a.size == b.size &&
         a.time_wall == b.time_wall && a.arrival == b.arrival && a.data_crc == b.data_crc;
}

struct Scanned {
  std::vector<std::pair<Frame, int64_t>> frames;
  int64_t end = 0;
};

Scanned Scan(int fd, int64_t size, int64_t check_from) {
  Scanned scanned;
  Result<int64_t> end = ScanFrames(fd, 0, size, check_from, [&](const Frame& frame, int64_t position) {
    scanned.frames.emplace_back(frame, position);
  });
  GT_ASSERT(end.ok() && *end <= size);
  scanned.end = *end;
  return scanned;
}

void CheckFrame(int fd, std::string_view file, const Frame& frame, int64_t position) {
  constexpr size_t kUnused = 2;  // at the end of a header
  Frame read;
  Result<std::string> data = ReadFrameAt(fd, position, &read);
  GT_ASSERT(data.ok() && Same(read, frame) && data->size() == frame.size);
  std::string written;
  AppendFrame(&written, frame, *data);
  size_t at = static_cast<size_t>(position) + kHeaderBytes;
  if (file.substr(at - kUnused, kUnused) == std::string_view("\0\0", 2))
    GT_ASSERT(file.substr(static_cast<size_t>(position), written.size()) == written);
  GT_ASSERT(file.substr(at, frame.size) == *data);
}

}  // namespace
}  // namespace gt::logs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gt::logs;
  gt::fuzz::Input input(data, size);
  bool fix = (input.Take<uint8_t>() & 1) != 0;
  std::string file(input.rest());
  if (fix) gt::fuzz::FixFrames(&file);
  Frame header;
  ReadHeader(gt::fuzz::Exact(file).view(), &header);
  gt::Fd fd(memfd_create("frames", MFD_CLOEXEC));
  GT_ASSERT(fd.valid() && gt::WriteAll(fd.get(), file).ok());
  auto bytes = static_cast<int64_t>(file.size());
  Scanned all = Scan(fd.get(), bytes, 0), unchecked = Scan(fd.get(), bytes, bytes);
  int64_t next = 0;
  for (const auto& [frame, position] : all.frames) {
    GT_ASSERT(position == next);
    CheckFrame(fd.get(), file, frame, position);
    next = position + static_cast<int64_t>(kHeaderBytes + frame.size);
  }
  GT_ASSERT(all.end == next);
  GT_ASSERT(unchecked.end >= all.end && unchecked.frames.size() >= all.frames.size());
  return 0;
}
