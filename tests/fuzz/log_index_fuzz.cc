// Any bytes as the index of a sealed segment: it is believed or made again, and either way leads to nothing but positions
// that are read with care. Input: how it is treated, how long the segment is, the segment, the index.
#include <fcntl.h>

#include "common/base/assert.h"
#include "common/os/file.h"
#include "coordinator/logs/segment.h"
#include "tests/fuzz/log_files.h"

namespace gt::logs {
namespace {

void Check(const std::string& path) {
  Result<std::unique_ptr<SealedSegment>> segment = SealedSegment::Open(path);
  GT_ASSERT(segment.ok());
  Result<Fd> fd = OpenFile(path, O_RDONLY);
  GT_ASSERT(fd.ok() && (*segment)->bytes() >= 0);
  std::vector<Uid> uids = (*segment)->Uids();
  uids.push_back({1, 2});
  uids.push_back({UINT64_MAX, UINT64_MAX});
  for (const Uid& uid : uids) {
    for (uint64_t position : (*segment)->Find(uid)) {
      Frame frame;
      Result<std::string> data = ReadFrameAt(fd->get(), static_cast<int64_t>(position), &frame);
      GT_ASSERT(data.ok() || data.status().code() == Code::kDataLoss);
    }
  }
}

}  // namespace
}  // namespace gt::logs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gt::fuzz::Input input(data, size);
  uint8_t fix = input.Take<uint8_t>();
  std::string segment(input.TakeBytes(input.Take<uint16_t>())), index(input.rest());
  if ((fix & 1) != 0) gt::fuzz::FixIndex(&index, segment.size());
  if ((fix & 2) != 0) gt::fuzz::FixFrames(&segment);
  const std::string path = gt::fuzz::Scratch() + "/1.log";
  GT_ASSERT(gt::WriteFile(path, segment).ok() && gt::WriteFile(gt::logs::IndexPathOf(path), index).ok());
  gt::logs::Check(path);
  return 0;
}
