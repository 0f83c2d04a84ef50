#include "coordinator/logs/log_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "common/os/clock.h"
#include "common/os/file.h"
#include "coordinator/logs/log_store_impl.h"

namespace gt {

using logs::AttemptLog;
using logs::Frame;
using logs::FrameKind;

bool LogSelection::Has(const LogStream& from) const {
  auto in = [](const std::vector<uint32_t>& list, uint32_t value) {
    return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
  };
  return in(ranks, from.rank) && in(streams, from.stream);
}

LogStore::LogStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LogStore::~LogStore() = default;

Result<std::unique_ptr<LogStore>> LogStore::Open(const std::string& dir, LogStoreOptions options) {
  auto impl = std::make_unique<Impl>(dir, options);
  GT_RETURN_IF_ERROR(MakeDirectories(dir + "/segments", 0700));
  GT_RETURN_IF_ERROR(MakeDirectories(dir + "/attempts", 0700));
  GT_RETURN_IF_ERROR(impl->OpenSegments());
  impl->CountOwnFiles();
  return std::unique_ptr<LogStore>(new LogStore(std::move(impl)));
}

std::string LogStore::Impl::SegmentPath(uint64_t number) const {
  std::string digits = std::to_string(number);
  return dir + "/segments/" + std::string(10 - std::min<size_t>(10, digits.size()), '0') + digits + ".log";
}

std::string LogStore::Impl::OwnPath(const Uid& uid) const {
  std::string hex = ToHex(uid);
  return dir + "/attempts/" + hex.substr(0, 2) + "/" + hex + ".log";
}

Status LogStore::Impl::OpenSegments() {
  GT_ASSIGN_OR_RETURN(std::vector<std::string> names, ListDirectory(dir + "/segments"));
  std::vector<uint64_t> numbers;
  for (const std::string& name : names)
    if (name.ends_with(".log")) numbers.push_back(std::strtoull(name.c_str(), nullptr, 10));
  std::sort(numbers.begin(), numbers.end());
  for (uint64_t number : numbers) {
    std::string path = SegmentPath(number);
    active_number = number;
    // The last one is still written, unless the process ended between sealing it and starting the next.
    if (number == numbers.back() && !Exists(logs::IndexPathOf(path))) break;
    GT_ASSIGN_OR_RETURN(sealed[number], logs::SealedSegment::Open(path));
    next_arrival = std::max(next_arrival, sealed[number]->max_arrival() + 1);
    total_bytes += sealed[number]->bytes();
    active_number = number + 1;
  }
  GT_ASSIGN_OR_RETURN(active, logs::ActiveSegment::Open(SegmentPath(active_number)));
  next_arrival = std::max(next_arrival, active.max_arrival + 1);
  total_bytes += active.size;
  return SyncDirectory(dir + "/segments");
}

void LogStore::Impl::CountOwnFiles() {
  Result<std::vector<std::string>> folders = ListDirectory(dir + "/attempts");
  if (!folders.ok()) return;
  for (const std::string& folder : *folders) {
    Result<std::vector<std::string>> names = ListDirectory(dir + "/attempts/" + folder);
    if (!names.ok()) continue;
    for (const std::string& name : *names) {
      struct stat info;
      if (stat((dir + "/attempts/" + folder + "/" + name).c_str(), &info) == 0) total_bytes += info.st_size;
    }
  }
}

Result<std::shared_ptr<AttemptLog>> LogStore::Impl::Get(const Uid& uid) {
  {
    std::lock_guard lock(mutex);
    auto found = attempts.find(uid);
    if (found != attempts.end()) {
      found->second->used = ++use_clock;
      return found->second;
    }
  }
  // One at a time, so that two loads of one attempt cannot overtake each other; others write and read on meanwhile.
  std::lock_guard load_lock(loading);
  {
    std::lock_guard lock(mutex);
    auto found = attempts.find(uid);
    if (found != attempts.end()) return found->second;
  }
  return LoadCold(uid);
}

Result<std::shared_ptr<AttemptLog>> LogStore::Impl::LoadCold(const Uid& uid) {
  // What is not yet on disk after a crash is at the end: there the data is checked too.
  constexpr int64_t kCheckedTail = 16 << 20;
  auto log = std::make_shared<AttemptLog>();
  log->uid = uid;
  log->own_path = OwnPath(uid);
  {
    std::lock_guard lock(mutex);
    GT_RETURN_IF_ERROR(LoadSmall(log.get()));
  }
  struct stat info;
  if (stat(log->own_path.c_str(), &info) == 0) {
    GT_ASSIGN_OR_RETURN(Fd fd, OpenFile(log->own_path, O_RDWR));
    GT_ASSIGN_OR_RETURN(int64_t end, logs::ScanFrames(fd.get(), 0, info.st_size, info.st_size - kCheckedTail,
                                                      [&](const Frame& frame, int64_t at) { log->NoteOwn(frame, at); }));
    if (end < info.st_size && ftruncate(fd.get(), end) != 0) return ErrnoStatus(errno, log->own_path);
    total_bytes -= info.st_size - end;
  }
  std::lock_guard lock(mutex);
  log->used = ++use_clock;
  attempts[uid] = log;
  if (attempts.size() > options.attempts_in_memory + options.attempts_in_memory / 4) Evict();
  return log;
}

Status LogStore::Impl::LoadSmall(AttemptLog* log) {
  struct Found { Frame frame; std::string path; uint64_t position; };
  std::vector<Found> all;
  auto add = [&](const std::string& path, int fd, const std::vector<uint64_t>& positions) -> Status {
    for (uint64_t position : positions) {
      Found found{.path = path, .position = position};
      Result<std::string> data = logs::ReadFrameAt(fd, static_cast<int64_t>(position), &found.frame);
      if (data.ok() && found.frame.uid == log->uid) all.push_back(std::move(found));
      else if (!data.ok() && data.status().code() != Code::kDataLoss) return data.status();
    }
    return OkStatus();
  };
  for (const auto& [number, segment] : sealed) {
    std::vector<uint64_t> positions = segment->Find(log->uid);
    if (positions.empty()) continue;
    GT_ASSIGN_OR_RETURN(Fd fd, OpenFile(segment->path(), O_RDONLY));
    GT_RETURN_IF_ERROR(add(segment->path(), fd.get(), positions));
  }
  auto active_positions = active.positions.find(log->uid);
  if (active_positions != active.positions.end()) GT_RETURN_IF_ERROR(add(active.path, active.fd.get(), active_positions->second));
  // A move by Expire that a crash cut short leaves a frame twice.
  std::stable_sort(all.begin(), all.end(), [](const Found& a, const Found& b) { return a.frame.arrival < b.frame.arrival; });
  uint64_t last = 0;
  for (const Found& found : all) {
    if (found.frame.arrival == last) continue;
    last = found.frame.arrival;
    log->NoteSmall(found.frame, found.path, found.position);
  }
  return OkStatus();
}

void LogStore::Impl::Evict() {
  std::vector<std::pair<uint64_t, Uid>> idle;
  for (const auto& [uid, log] : attempts)
    if (log.use_count() == 1) idle.push_back({log->used, uid});
  size_t excess = attempts.size() - std::min(attempts.size(), options.attempts_in_memory);
  excess = std::min(excess, idle.size());
  std::nth_element(idle.begin(), idle.begin() + static_cast<ptrdiff_t>(excess), idle.end());
  for (size_t i = 0; i < excess; i++) attempts.erase(idle[i].second);
}

Result<LogCursors> LogStore::Sizes(const Uid& uid) {
  GT_ASSIGN_OR_RETURN(std::shared_ptr<AttemptLog> log, impl_->Get(uid));
  std::lock_guard lock(impl_->mutex);
  return log->Sizes();
}

int64_t LogStore::TotalBytes() const { return impl_->total_bytes; }

uint64_t LogStore::Follow(const Uid& uid, std::function<void()> changed) {
  std::lock_guard lock(impl_->following);
  uint64_t id = impl_->next_follower++;
  impl_->followers[uid].emplace(id, std::move(changed));
  impl_->followed.emplace(id, uid);
  return id;
}

void LogStore::Unfollow(uint64_t follower) {
  std::lock_guard lock(impl_->following);
  auto found = impl_->followed.find(follower);
  if (found == impl_->followed.end()) return;
  auto list = impl_->followers.find(found->second);
  list->second.erase(follower);
  if (list->second.empty()) impl_->followers.erase(list);
  impl_->followed.erase(found);
}

void LogStore::Impl::Notify(const std::vector<Uid>& uids) {
  std::lock_guard lock(following);
  for (const Uid& uid : uids) {
    auto list = followers.find(uid);
    if (list == followers.end()) continue;
    // A copy: a callback may unfollow itself.
    for (const auto& [id, changed] : std::map(list->second))
      if (followed.contains(id)) changed();
  }
}

}  // namespace gt
