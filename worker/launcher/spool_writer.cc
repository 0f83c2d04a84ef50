#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "common/base/units.h"
#include "common/os/file.h"
#include "worker/launcher/spool.h"

namespace gt::launcher {

namespace {
constexpr size_t kFlushAt = 1u << 20;
constexpr uint64_t kRestartGap = 1ull << 34;  // more than the node cap, so nothing acknowledged is named twice
constexpr Millis kRetry = 1 * kSecond;

int64_t Reserve(int64_t segment) { return std::min<int64_t>(64 << 10, segment / 8); }
constexpr int64_t kLeastSegment = 64 << 10;  // where less than a whole one is free

// Calls visit(frame, payload size) for each whole frame; returns where they end.
template <typename Visit>
int64_t ScanFrames(int fd, Visit visit) {
  struct stat info;
  if (fstat(fd, &info) != 0) return 0;
  int64_t at = 0;
  char header[kSpoolHeader];
  while (pread(fd, header, sizeof header, at) == static_cast<ssize_t>(sizeof header)) {
    SpoolFrame frame;
    int64_t size = ParseSpoolHeader({header, sizeof header}, &frame);
    if (size < 0 || at + static_cast<int64_t>(kSpoolHeader) + size > info.st_size) break;
    visit(frame, size);
    at += static_cast<int64_t>(kSpoolHeader) + size;
  }
  return at;
}
}  // namespace

std::string SpoolWriter::PathOf(uint64_t start) const { return SegmentPath(dir_, start); }

Status SpoolWriter::Open() {
  GT_RETURN_IF_ERROR(MakeDirectories(dir_, 0700));
  GT_ASSIGN_OR_RETURN(auto starts, ListSegments(dir_));
  for (uint64_t start : starts) {
    GT_ASSIGN_OR_RETURN(Fd fd, OpenFile(PathOf(start), O_RDWR));
    struct stat info;
    if (fstat(fd.get(), &info) != 0) return ErrnoStatus(errno, PathOf(start));
    int64_t size = info.st_size;
    if (start == starts.back()) {
      size = ScanFrames(fd.get(), [](const SpoolFrame&, int64_t) {});
      if (ftruncate(fd.get(), size) != 0) return ErrnoStatus(errno, PathOf(start));
    }
    segments_.push_back({start, size});
  }
  if (!segments_.empty()) next_start_ = segments_.back().start + segments_.back().size + kRestartGap;
  flushed_ = next_start_;
  return OkStatus();
}

int64_t SpoolWriter::NodeBytes() const {
  int64_t bytes = static_cast<int64_t>(buffer_.size());
  for (const Segment& segment : segments_) bytes += segment.size;
  return bytes;
}

void SpoolWriter::Append(const Uid& uid, uint32_t rank, Stream stream, std::string_view bytes, Millis now) {
  Key key{uid, rank};
  RankState* state = &ranks_[key];
  while (!bytes.empty()) {
    std::string_view part = bytes.substr(0, kMaxSpoolPayload);
    bytes.remove_prefix(part.size());
    int64_t room = limits_.rank - state->kept[0] - state->kept[1];
    if (room <= 0 || (state->cut && room < limits_.rank / 64)) {
      Lose(key, state, stream, part.size(), "the limit of " + FormatBytes(limits_.rank) + " per rank is reached", now);
      continue;
    }
    if (!MakeRoom(part.size(), false, now)) {
      Lose(key, state, stream, part.size(), trouble_, now);
      continue;
    }
    NoticeLoss(key, state, now);
    std::string_view kept = part.substr(0, static_cast<size_t>(std::min<int64_t>(room, part.size())));
    Put(key, state, stream, false, kept);
    if (kept.size() < part.size()) {
      Lose(key, state, stream, part.size() - kept.size(),
           "the limit of " + FormatBytes(limits_.rank) + " per rank is reached", now);
    }
    if (buffer_.size() >= kFlushAt) Flush(now);
  }
}

void SpoolWriter::Put(const Key& key, RankState* state, Stream stream, bool notice, std::string_view bytes) {
  int64_t* kept = &state->kept[static_cast<int>(stream) - 1];
  buffer_ += SpoolHeader({.uid = key.first, .rank = key.second, .stream = stream, .notice = notice,
                          .stream_offset = static_cast<uint64_t>(state->base + *kept)}, bytes.size());
  buffer_ += bytes;
  *kept += static_cast<int64_t>(bytes.size());
  pending_.push_back({state, stream, static_cast<int64_t>(bytes.size()), notice});
}

void SpoolWriter::Lose(const Key& key, RankState* state, Stream stream, size_t bytes, const std::string& why, Millis now) {
  state->lost += static_cast<int64_t>(bytes);
  state->unnoticed += static_cast<int64_t>(bytes);
  if (state->cut) return;
  std::string text = "\n[gridtrain: output is not kept from here on: " + why + "]\n";
  if (!MakeRoom(text.size(), true, now)) return;
  state->cut = true;
  state->cut_stream = stream;
  Put(key, state, stream, true, text);
}

void SpoolWriter::NoticeLoss(const Key& key, RankState* state, Millis now) {
  if (state->unnoticed == 0) return;
  std::string text = "\n[gridtrain: " + std::to_string(state->unnoticed) + " bytes of output were not kept]\n";
  if (!MakeRoom(text.size(), true, now)) return;
  Put(key, state, state->cut_stream, true, text);
  state->unnoticed = 0;
  state->cut = false;
}

// Makes sure that a frame fits the open segment, or opens the next one. On false trouble_ says why not.
bool SpoolWriter::MakeRoom(size_t bytes, bool notice, Millis now) {
  auto need = static_cast<int64_t>(bytes + kSpoolHeader);
  if (file_.valid()) {
    int64_t used = segments_.back().size + static_cast<int64_t>(buffer_.size());
    int64_t limit = segment_room_ - (notice ? 0 : Reserve(segment_room_));
    if (used + need <= limit || (used == 0 && !notice)) {
      // A full node stays full until something is acknowledged; only notices still pass.
      if (notice) return true;
      if (NodeBytes() + need <= limits_.node) {
        trouble_.clear();
        return true;
      }
      trouble_ = "the spool of this node is full (" + FormatBytes(limits_.node) + " not yet taken by the coordinator)";
      return false;
    }
  }
  if (!trouble_.empty() && now < retry_) return false;
  Flush(now);
  if (NodeBytes() + need > limits_.node) {
    trouble_ = "the spool of this node is full (" + FormatBytes(limits_.node) + " not yet taken by the coordinator)";
  } else if (Status status = Roll(now); !status.ok()) {
    trouble_ = status.message();
  } else {
    trouble_.clear();
    return true;
  }
  retry_ = now + kRetry;
  return false;
}

Status SpoolWriter::Roll(Millis now) {
  Flush(now);
  uint64_t start = file_.valid() ? flushed_ : next_start_;
  std::string path = PathOf(start);
  GT_ASSIGN_OR_RETURN(Fd fd, OpenFile(path, O_RDWR | O_CREAT | O_TRUNC, 0600));
  // Space is taken now, so that a disk which fills up meets us here and never in the middle of a segment.
  // On a nearly full disk a smaller segment still keeps what most tasks print.
  int64_t room = limits_.segment;
  while (fallocate(fd.get(), FALLOC_FL_KEEP_SIZE, 0, room) != 0 && errno != EOPNOTSUPP) {
    int error = errno;
    if ((error == ENOSPC || error == EDQUOT) && room / 4 >= kLeastSegment) {
      room /= 4;
      continue;
    }
    unlink(path.c_str());
    return Status(ErrnoStatus(error, "spool").code(), strerror(error));
  }
  segment_room_ = room;
  GT_RETURN_IF_ERROR(SyncDirectory(dir_));
  file_ = std::move(fd);
  // A segment without a frame names nothing; it only would collide with this one.
  if (!segments_.empty() && segments_.back().start == start) segments_.pop_back();
  segments_.push_back({start, 0});
  flushed_ = start;
  return OkStatus();
}

void SpoolWriter::Flush(Millis now) {
  if (buffer_.empty()) return;
  Segment* segment = &segments_.back();
  Status status = WriteAllAt(file_.get(), buffer_, segment->size);
  if (status.ok()) {
    segment->size += static_cast<int64_t>(buffer_.size());
    flushed_ += buffer_.size();
  } else {  // none of it counts; a part that reached the file will be overwritten or cut off
    trouble_ = status.message();
    retry_ = now + kRetry;
    for (const Pending& frame : pending_) {
      frame.rank->kept[static_cast<int>(frame.stream) - 1] -= frame.size;
      if (frame.notice) continue;
      frame.rank->lost += frame.size;
      frame.rank->unnoticed += frame.size;
    }
  }
  buffer_.clear();
  pending_.clear();
}

void SpoolWriter::Acknowledge(uint64_t offset) {
  while (segments_.size() > 1 && segments_[1].start <= offset) {  // the last one stays: it remembers the offset
    if (unlink(PathOf(segments_.front().start).c_str()) != 0 && errno != ENOENT) return;
    segments_.erase(segments_.begin());
    retry_ = 0;
  }
}

SpoolWriter::Sizes SpoolWriter::Finish(const Uid& uid, uint32_t rank, Millis now) {
  auto found = ranks_.find({uid, rank});
  if (found == ranks_.end()) return {};
  RankState* state = &found->second;
  NoticeLoss(found->first, state, now);
  bool waiting = std::any_of(pending_.begin(), pending_.end(), [&](const Pending& p) { return p.rank == state; });
  if (waiting) Flush(now);
  auto size = [state](int64_t kept) { return kept == 0 ? 0 : state->base + kept; };
  Sizes sizes{size(state->kept[0]), size(state->kept[1]), state->lost};
  ranks_.erase(found);
  return sizes;
}

std::map<std::pair<Uid, uint32_t>, SpoolWriter::Sizes> SpoolWriter::Recover() const {
  std::map<Key, Sizes> sizes;
  for (const Segment& segment : segments_) {
    auto fd = OpenFile(PathOf(segment.start), O_RDONLY);
    if (!fd.ok()) continue;
    ScanFrames(fd->get(), [&](const SpoolFrame& frame, int64_t size) {
      auto [at, fresh] = sizes.try_emplace(Key{frame.uid, frame.rank}, Sizes{-1, -1, 0});
      int64_t* kept = frame.stream == Stream::kStdout ? &at->second.stdout_bytes : &at->second.stderr_bytes;
      *kept = static_cast<int64_t>(frame.stream_offset) + size;
    });
  }
  return sizes;
}

}  // namespace gt::launcher
