#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "common/os/clock.h"
#include "common/os/file.h"
#include "coordinator/logs/log_store_impl.h"

namespace gt {

using logs::AttemptLog;
using logs::Frame;
using logs::FrameKind;
using logs::kHeaderBytes;

Status LogStore::Append(std::span<const LogInput> inputs) {
  size_t bytes = 0;
  for (const LogInput& input : inputs) bytes += input.data.size();
  if (bytes > 8u << 20) return {Code::kInvalidArgument, "more than 8 MiB of output in one append"};
  // Held so that they stay in memory until they are written.
  std::map<Uid, std::shared_ptr<AttemptLog>> logs;
  for (const LogInput& input : inputs) {
    if (logs.contains(input.uid)) continue;
    GT_ASSIGN_OR_RETURN(logs[input.uid], impl_->Get(input.uid));
  }
  uint64_t ticket;
  std::vector<Uid> changed;
  {
    std::lock_guard lock(impl_->mutex);
    if (!impl_->broken.ok()) return impl_->broken;
    GT_RETURN_IF_ERROR(impl_->CheckSpace());
    LogPending pending;
    for (const LogInput& input : inputs) pending.expected[input.uid] += input.data.size() + kHeaderBytes;
    for (const LogInput& input : inputs) impl_->Plan(input, logs.at(input.uid), &pending);
    GT_RETURN_IF_ERROR(impl_->Write(&pending));
    impl_->Note(pending);
    if (!pending.items.empty()) impl_->written++;
    ticket = impl_->written;
    for (const LogPending::Item& item : pending.items)
      if (changed.empty() || changed.back() != item.log->uid) changed.push_back(item.log->uid);
  }
  GT_RETURN_IF_ERROR(impl_->Sync(ticket));
  std::sort(changed.begin(), changed.end());
  changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
  impl_->Notify(changed);
  return OkStatus();
}

Status LogStore::Impl::CheckSpace() {
  constexpr Millis kEvery = 500;
  if (options.min_free_bytes == 0) return OkStatus();
  Millis now = ReadClock().mono;
  if (space_checked == 0 || now - space_checked >= kEvery) {
    Result<int64_t> left = FreeBytes(dir);
    space_checked = now;
    space = left.ok() && *left < options.min_free_bytes
                ? Status(Code::kResourceExhausted, "less than " + std::to_string(options.min_free_bytes) + " bytes are free for logs")
                : OkStatus();
  }
  return space;
}

void LogStore::Impl::Plan(const LogInput& input, const std::shared_ptr<AttemptLog>& log, LogPending* pending) {
  auto [at, is_new] = pending->ends.try_emplace({input.uid, input.from}, log->EndOf(input.from));
  uint64_t& end = at->second;
  uint64_t offset = input.offset;
  std::string_view data = input.data;
  if (offset + data.size() <= end) return;
  Frame frame{.uid = input.uid, .from = input.from, .time_wall = input.time_wall};
  if (offset < end) {
    data.remove_prefix(static_cast<size_t>(end - offset));
    offset = end;
  }
  if (log->TotalBytes() > options.attempt_limit_bytes) {
    // From here on everything counts as stored already.
    frame.kind = FrameKind::kNotice;
    frame.offset = end = kLogCut;
    return PlanFrame(log, frame, "[the output of this attempt is cut here: it is larger than " +
                                     std::to_string(options.attempt_limit_bytes) + " bytes]", pending);
  }
  if (offset > end) {
    frame.kind = FrameKind::kNotice;
    frame.offset = offset;
    PlanFrame(log, frame, "[" + std::to_string(offset - end) + " bytes of output are missing here]", pending);
  }
  frame.kind = FrameKind::kData;
  for (; !data.empty(); data.remove_prefix(std::min(data.size(), logs::kMaxData))) {
    frame.offset = offset;
    std::string_view part = data.substr(0, logs::kMaxData);
    PlanFrame(log, frame, part, pending);
    offset += part.size();
  }
  end = offset;
}

void LogStore::Impl::PlanFrame(const std::shared_ptr<AttemptLog>& log, Frame frame, std::string_view data,
                               LogPending* pending) {
  int64_t& small_added = pending->small_data[log->uid];
  bool& own_now = pending->own_now[log->uid];
  // Headers count: a task that prints a byte at a time must not fill the segments either.
  int64_t small = log->small_data + small_added + static_cast<int64_t>((log->small.size() + 1) * kHeaderBytes);
  own_now = own_now || log->own_bytes > 0 || small + static_cast<int64_t>(data.size()) > options.small_bytes;
  std::string& buffer = own_now ? pending->own[log] : pending->segment;
  if (own_now && buffer.empty()) buffer.reserve(pending->expected[log->uid]);
  frame.size = static_cast<uint32_t>(data.size());
  frame.arrival = next_arrival + pending->items.size();
  pending->items.push_back({.log = log, .frame = frame, .small = !own_now, .position = static_cast<int64_t>(buffer.size())});
  if (!own_now) small_added += static_cast<int64_t>(data.size());
  logs::AppendFrame(&buffer, frame, data);
}

Status LogStore::Impl::Write(LogPending* pending) {
  struct Written { Fd fd; int64_t size_before; };
  std::vector<Written> done;
  int64_t segment_before = -1;
  auto write = [&]() -> Status {
    for (const auto& [log, bytes] : pending->own) {
      bool fresh = log->own_bytes == 0;
      if (fresh) GT_RETURN_IF_ERROR(MakeDirectories(DirectoryOf(log->own_path), 0700));
      GT_ASSIGN_OR_RETURN(Fd fd, OpenFile(log->own_path, O_WRONLY | O_CREAT));
      done.push_back({std::move(fd), log->own_bytes});
      GT_RETURN_IF_ERROR(WriteAllAt(done.back().fd.get(), bytes, log->own_bytes));
      // A power cut must not lose the file's name; rare: once an attempt of this size.
      if (fresh) GT_RETURN_IF_ERROR(SyncDirectory(DirectoryOf(log->own_path)));
    }
    if (pending->segment.empty()) return OkStatus();
    if (active.size > 0 && active.size + static_cast<int64_t>(pending->segment.size()) > options.segment_bytes)
      GT_RETURN_IF_ERROR(RollSegment());
    segment_before = active.size;
    return AppendToSegment(pending->segment);
  };
  Status status = write();
  if (status.ok()) {
    for (Written& one : done) dirty.push_back(std::move(one.fd));
    return status;
  }
  // Nothing of it may stay: the same bytes come again.
  for (const Written& one : done)
    if (ftruncate(one.fd.get(), one.size_before) != 0) broken = ErrnoStatus(errno, "taking back what was written of a log");
  if (segment_before >= 0 && ftruncate(active.fd.get(), segment_before) != 0) broken = ErrnoStatus(errno, active.path);
  return status;
}

Status LogStore::Impl::AppendToSegment(const std::string& bytes) {
  GT_RETURN_IF_ERROR(WriteAllAt(active.fd.get(), bytes, active.size));
  active_dirty = true;
  return OkStatus();
}

void LogStore::Impl::Note(const LogPending& pending) {
  std::map<AttemptLog*, int64_t> own_before;
  for (const auto& [log, bytes] : pending.own) own_before[log.get()] = log->own_bytes;
  for (const LogPending::Item& item : pending.items) {
    if (item.small) {
      int64_t position = active.size + item.position;
      item.log->NoteSmall(item.frame, active.path, static_cast<uint64_t>(position));
      active.positions[item.log->uid].push_back(static_cast<uint64_t>(position));
      active.max_arrival = std::max(active.max_arrival, item.frame.arrival);
    } else {
      item.log->NoteOwn(item.frame, own_before.at(item.log.get()) + item.position);
    }
  }
  active.size += static_cast<int64_t>(pending.segment.size());
  next_arrival += pending.items.size();
  int64_t bytes = static_cast<int64_t>(pending.segment.size());
  for (const auto& [log, own] : pending.own) bytes += static_cast<int64_t>(own.size());
  total_bytes += bytes;
}

Status LogStore::Impl::RollSegment() {
  if (fdatasync(active.fd.get()) != 0) return broken = ErrnoStatus(errno, active.path);
  GT_RETURN_IF_ERROR(logs::SealedSegment::WriteIndex(active.path, active.Entries(), active.size, ReadClock().wall,
                                                     active.max_arrival));
  GT_ASSIGN_OR_RETURN(std::unique_ptr<logs::SealedSegment> segment, logs::SealedSegment::Open(active.path));
  total_bytes += segment->bytes() - active.size;
  GT_ASSIGN_OR_RETURN(logs::ActiveSegment next, logs::ActiveSegment::Open(SegmentPath(active_number + 1)));
  GT_RETURN_IF_ERROR(SyncDirectory(dir + "/segments"));
  sealed[active_number++] = std::move(segment);
  active = std::move(next);
  active_dirty = false;
  return OkStatus();
}

Status LogStore::Impl::Sync(uint64_t ticket) {
  std::lock_guard sync_lock(syncing);
  if (synced >= ticket) return OkStatus();  // whoever held the lock before did it for us
  std::vector<Fd> files;
  uint64_t target;
  {
    std::lock_guard lock(mutex);
    if (!broken.ok()) return broken;
    files.swap(dirty);
    if (active_dirty) {
      int copy = fcntl(active.fd.get(), F_DUPFD_CLOEXEC, 0);
      if (copy < 0) return broken = ErrnoStatus(errno, "fcntl");
      files.emplace_back(copy);
      active_dirty = false;
    }
    target = written;
  }
  for (const Fd& file : files) {
    if (fdatasync(file.get()) == 0) continue;
    std::lock_guard lock(mutex);
    // The kernel may have dropped the pages: nothing in memory is to be believed any more.
    return broken = Status(Code::kInternal, ErrnoStatus(errno, "syncing a log").message());
  }
  synced = target;
  return OkStatus();
}

}  // namespace gt
