#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/os/file.h"
#include "worker/launcher/spool.h"

namespace gt::launcher {

namespace {
Result<uint64_t> SizeOf(int fd) {
  struct stat info;
  if (fstat(fd, &info) != 0) return ErrnoStatus(errno, "spool");
  return static_cast<uint64_t>(info.st_size);
}
}  // namespace

// Afterwards file_ is open and at_ lies in it, or file_ is not valid: there is no segment at or after `offset`.
Status SpoolReader::Seek(uint64_t offset) {
  if (file_.valid() && offset == at_) {
    GT_ASSIGN_OR_RETURN(uint64_t size, SizeOf(file_.get()));
    if (at_ < start_ + size) return OkStatus();
  }
  GT_ASSIGN_OR_RETURN(auto starts, ListSegments(dir_));
  for (size_t i = 0; i < starts.size(); ++i) {
    bool last = i + 1 == starts.size();
    if (!last && starts[i + 1] <= offset) continue;
    auto file = OpenFile(SegmentPath(dir_, starts[i]), O_RDONLY);
    if (file.status().code() == Code::kNotFound) continue;  // acknowledged just now
    if (!file.ok()) return file.status();
    GT_ASSIGN_OR_RETURN(uint64_t size, SizeOf(file->get()));
    if (!last && offset >= starts[i] + size) continue;  // between two segments
    file_ = std::move(file).value();
    start_ = starts[i];
    at_ = std::max(offset, start_);
    return OkStatus();
  }
  file_.Reset();
  return OkStatus();
}

// false: no whole frame before `end` in this segment.
Result<bool> SpoolReader::ReadFrame(uint64_t end, SpoolFrame* frame) {
  if (!file_.valid() || at_ + kSpoolHeader > end) return false;
  auto offset = static_cast<int64_t>(at_ - start_);
  GT_ASSIGN_OR_RETURN(std::string header, ReadAt(file_.get(), offset, kSpoolHeader));
  if (header.empty()) return false;
  int64_t size = ParseSpoolHeader(header, frame);
  if (size < 0) return Status(Code::kDataLoss, SegmentPath(dir_, start_) + ": no frame at " + std::to_string(offset));
  GT_ASSIGN_OR_RETURN(frame->bytes, ReadAt(file_.get(), offset + static_cast<int64_t>(kSpoolHeader), size));
  if (frame->bytes.size() != static_cast<size_t>(size)) {
    return Status(Code::kDataLoss, SegmentPath(dir_, start_) + ": torn frame at " + std::to_string(offset));
  }
  at_ += kSpoolHeader + static_cast<uint64_t>(size);
  frame->next = at_;
  return true;
}

Result<std::vector<SpoolFrame>> SpoolReader::Next(uint64_t from, uint64_t end, size_t limit) {
  std::vector<SpoolFrame> frames;
  size_t bytes = 0;
  while (from < end) {
    GT_RETURN_IF_ERROR(Seek(from));
    SpoolFrame frame;
    auto got = ReadFrame(end, &frame);
    if (!got.ok() && !frames.empty()) break;  // first hand over what is good
    if (!got.ok()) return got.status();
    if (!*got || (!frames.empty() && bytes + frame.bytes.size() > limit)) break;
    bytes += frame.bytes.size();
    from = frame.next;
    frames.push_back(std::move(frame));
  }
  return frames;
}

Result<uint64_t> SpoolReader::SkipSegment(uint64_t offset, uint64_t end) {
  GT_ASSIGN_OR_RETURN(auto starts, ListSegments(dir_));
  for (uint64_t start : starts)
    if (start > offset && start < end) return start;
  return end;
}

}  // namespace gt::launcher
