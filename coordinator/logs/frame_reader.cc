#include "coordinator/logs/frame_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "common/base/crc32c.h"
#include "common/os/file.h"

namespace gt::logs {

ReadPlan PlanRead(const AttemptLog& log, const LogSelection& selection, const LogCursors& cursors) {
  auto cursor = [&](LogStream from) {
    auto found = cursors.find(from);
    return found == cursors.end() ? 0 : found->second;
  };
  auto passed = [&](const Point& point) {
    for (size_t i = 0; i < log.streams.size(); i++) {
      uint64_t wanted_from = cursor(log.streams[i]);
      if (!selection.Has(log.streams[i]) || wanted_from >= log.ends[i]) continue;
      if ((i < point.ends.size() ? point.ends[i] : 0) > wanted_from) return false;
    }
    return true;
  };
  ReadPlan plan{.own_path = log.own_path, .own_bytes = log.own_bytes};
  auto first_not = std::partition_point(log.points.begin(), log.points.end(), passed);
  if (first_not == log.points.begin()) {
    plan.small = log.small;
  } else {
    plan.own_from = (first_not - 1)->position;
  }
  return plan;
}

Result<bool> FrameReader::Next(Frame* frame, std::string* data) {
  if (small_at_ < plan_.small.size()) {
    GT_ASSIGN_OR_RETURN(bool found, NextSmall(frame, data));
    if (found) return true;
  }
  return NextOwn(frame, data);
}

Result<bool> FrameReader::NextSmall(Frame* frame, std::string* data) {
  while (small_at_ < plan_.small.size()) {
    const SmallRef& ref = plan_.small[small_at_++];
    if (ref.path != small_path_) {
      Result<Fd> fd = OpenFile(ref.path, O_RDONLY);
      if (!fd.ok() && fd.status().code() == Code::kNotFound) continue;
      if (!fd.ok()) return fd.status();
      small_fd_ = std::move(*fd);
      small_path_ = ref.path;
    }
    Result<std::string> read = ReadFrameAt(small_fd_.get(), static_cast<int64_t>(ref.position), frame);
    if (!read.ok() && read.status().code() == Code::kDataLoss) continue;
    if (!read.ok()) return read.status();
    *data = std::move(*read);
    return true;
  }
  return false;
}

Result<bool> FrameReader::NextOwn(Frame* frame, std::string* data) {
  if (own_at_ >= plan_.own_bytes) return false;
  if (!own_fd_.valid()) {
    Result<Fd> fd = OpenFile(plan_.own_path, O_RDONLY);
    if (!fd.ok() && fd.status().code() == Code::kNotFound) return false;
    if (!fd.ok()) return fd.status();
    own_fd_ = std::move(*fd);
  }
  auto have = [&](size_t need) -> Result<bool> {
    int64_t skip = own_at_ - buffer_at_;
    if (skip >= 0 && skip + static_cast<int64_t>(need) <= static_cast<int64_t>(buffer_.size())) return true;
    buffer_.resize(std::max<size_t>(need, kHeaderBytes + kMaxData));
    ssize_t got = pread(own_fd_.get(), buffer_.data(), buffer_.size(), own_at_);
    if (got < 0) return ErrnoStatus(errno, plan_.own_path);
    buffer_.resize(static_cast<size_t>(got));
    buffer_at_ = own_at_;
    return buffer_.size() >= need;
  };
  auto bytes = [&] { return std::string_view(buffer_).substr(static_cast<size_t>(own_at_ - buffer_at_)); };
  Status damaged(Code::kDataLoss, plan_.own_path + " is damaged at byte " + std::to_string(own_at_));
  GT_ASSIGN_OR_RETURN(bool header, have(kHeaderBytes));
  if (!header || !ReadHeader(bytes(), frame)) return damaged;
  GT_ASSIGN_OR_RETURN(bool whole, have(kHeaderBytes + frame->size));
  if (!whole || Crc32c(bytes().substr(kHeaderBytes, frame->size)) != frame->data_crc) return damaged;
  *data = std::string(bytes().substr(kHeaderBytes, frame->size));
  own_at_ += static_cast<int64_t>(kHeaderBytes + frame->size);
  return true;
}

}  // namespace gt::logs
