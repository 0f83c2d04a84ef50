// Any bytes as the segments of a spool: reading them in small and in large steps gives the same frames, moves forward
// and ends; and a launcher that finds them writes on after them, where its worker finds it. Input: where the second
// segment begins (0: there is one only), how the bytes are treated, then those of both.
#include <fcntl.h>
#include <sys/stat.h>

#include <vector>

#include "common/base/assert.h"
#include "common/os/file.h"
#include "tests/fuzz/fuzz.h"
#include "worker/launcher/crc32.h"
#include "worker/launcher/spool.h"

namespace gt::launcher {
namespace {

constexpr size_t kChecked = kSpoolHeader - 8;
constexpr uint64_t kGap = 100;
constexpr int kMaxTurns = 10'000;

std::string WithChecksums(std::string bytes) {
  for (size_t at = 0; at + kSpoolHeader <= bytes.size();) {
    fuzz::WriteInt(&bytes, at + kChecked, Crc32(std::string_view(bytes).substr(at, kChecked)));
    at += kSpoolHeader + fuzz::ReadInt<uint32_t>(bytes, at + 4);
  }
  return bytes;
}

// Everything below `end`, as the log shipper goes through it.
std::vector<SpoolFrame> ReadAll(const std::string& dir, uint64_t end, size_t limit) {
  SpoolReader reader(dir);
  std::vector<SpoolFrame> all;
  int turns = 0;
  for (uint64_t at = 0; at < end;) {
    GT_ASSERT(++turns < kMaxTurns);
    Result<std::vector<SpoolFrame>> frames = reader.Next(at, end, limit);
    if (!frames.ok()) {
      GT_ASSERT(frames.status().code() == Code::kDataLoss);
      Result<uint64_t> next = reader.SkipSegment(at, end);
      GT_ASSERT(next.ok() && *next > at);
      at = *next;
    } else if (frames->empty()) {
      at = end;
    } else {
      for (SpoolFrame& frame : *frames) {
        GT_ASSERT(frame.next > at);
        at = frame.next;
        all.push_back(std::move(frame));
      }
    }
  }
  return all;
}

void CheckSame(const std::vector<SpoolFrame>& a, const std::vector<SpoolFrame>& b) {
  GT_ASSERT(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i)
    GT_ASSERT(a[i].uid == b[i].uid && a[i].next == b[i].next && a[i].bytes == b[i].bytes);
}

// What an earlier launcher left is kept as far as it is whole; what this one writes is found behind it.
void CheckWriter(const std::string& dir) {
  constexpr std::string_view kText = "written after what was found\n";
  const Uid uid{7, 7};
  SpoolWriter writer(dir, {.segment = 8 << 10, .node = 1 << 20, .rank = 1 << 20});
  GT_ASSERT(writer.Open().ok());
  for (const auto& [key, sizes] : writer.Recover()) GT_ASSERT(sizes.lost == 0);
  uint64_t before = writer.end();
  writer.Append(uid, 3, Stream::kStderr, kText, 0);
  writer.Flush(0);
  GT_ASSERT(writer.trouble().empty() && writer.end() > before);
  Result<std::vector<SpoolFrame>> frames = SpoolReader(dir).Next(before, writer.end(), 1 << 20);
  GT_ASSERT(frames.ok() && frames->size() == 1);
  const SpoolFrame& frame = frames->front();
  GT_ASSERT(frame.uid == uid && frame.rank == 3 && frame.bytes == kText && frame.next == writer.end());
}

}  // namespace
}  // namespace gt::launcher

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gt::launcher;
  gt::fuzz::Input input(data, size);
  size_t cut = input.Take<uint16_t>();
  bool fix = (input.Take<uint8_t>() & 1) != 0;
  gt::fuzz::ClearScratch();
  const std::string& dir = gt::fuzz::Scratch();
  uint64_t start = 0, end = 0;
  size_t bytes = 0;
  for (std::string_view part : {input.TakeBytes(cut == 0 ? size : cut), input.rest()}) {
    if (part.empty()) continue;
    std::string content = fix ? WithChecksums(std::string(part)) : std::string(part);
    GT_ASSERT(gt::WriteFile(SegmentPath(dir, start), content).ok());
    bytes += content.size();
    end = start + content.size();
    start = end + kGap;
  }
  std::vector<SpoolFrame> frames = ReadAll(dir, end, 1 << 20);
  CheckSame(frames, ReadAll(dir, end, 1));
  size_t read = 0;
  for (const SpoolFrame& frame : frames) read += kSpoolHeader + frame.bytes.size();
  GT_ASSERT(read <= bytes);
  CheckWriter(dir);
  return 0;
}
