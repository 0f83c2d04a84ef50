#include "worker/launcher/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "common/os/file.h"
#include "worker/launcher/crc32.h"

namespace gt::launcher {

namespace {
constexpr size_t kRecordHeader = 2 * sizeof(uint32_t);
}

template <typename... Fields>
std::string Journal::Encode(Kind kind, const Fields&... fields) {
  std::string body, record;
  Writer write_body(&body), write_record(&record);
  write_body(kind, fields...);
  write_record(static_cast<uint32_t>(body.size()), Crc32(body));
  return record + body;
}

bool Journal::Apply(std::string_view body, std::map<Uid, JournalEntry>* entries, std::map<Uid, std::string>* live,
                    std::string_view record) {
  Kind kind{};
  Uid uid;
  Reader read(body);
  read(kind);
  if (kind == Kind::kStart) {
    JournalEntry entry;
    read(entry.start);
    if (!read.ok()) return false;
    uid = entry.start.uid;
    (*entries)[uid] = std::move(entry);
  } else if (kind == Kind::kKeeper) {
    KeeperId keeper;
    read(uid, keeper.pid, keeper.start_ticks);
    if (!read.ok() || entries->count(uid) == 0) return read.ok();
    (*entries)[uid].keeper = keeper;
  } else if (kind == Kind::kExit) {
    ExitRecord exit;
    read(exit);
    uid = exit.uid;
    if (!read.ok() || entries->count(uid) == 0) return read.ok();
    (*entries)[uid].exit = std::move(exit);
  } else {
    if (kind == Kind::kForget) read(uid);
    if (!read.ok() || kind != Kind::kForget) return read.ok();  // of a kind that this version does not know: nothing
    entries->erase(uid);
    live->erase(uid);
    return true;
  }
  (*live)[uid] += record;
  return true;
}

void Journal::Replay(std::string_view rest, std::map<Uid, JournalEntry>* entries, std::map<Uid, std::string>* live) {
  while (rest.size() >= kRecordHeader) {
    uint32_t size = 0, crc = 0;
    Reader read(rest);
    read(size, crc);
    if (size == 0 || size > rest.size() - kRecordHeader) break;
    std::string_view body = rest.substr(kRecordHeader, size);
    if (Crc32(body) != crc || !Apply(body, entries, live, rest.substr(0, kRecordHeader + size))) break;
    rest.remove_prefix(kRecordHeader + size);
  }
}

Status Journal::Open(const std::string& path, std::map<Uid, JournalEntry>* entries) {
  path_ = path;
  auto old = ReadFile(path, 1u << 30);
  if (!old.ok() && old.status().code() != Code::kNotFound) return old.status();
  if (old.ok()) Replay(*old, entries, &live_);
  for (const auto& [uid, records] : live_) live_bytes_ += records.size();
  return Rewrite(0);
}

// The live records into a new file of real zeros (so that later syncs need no metadata), big enough to be half empty.
Status Journal::Rewrite(size_t more) {
  size_t capacity = kSmallest;
  while (capacity / 2 < live_bytes_ + more) capacity *= 2;
  std::string content, temp = path_ + ".new";
  content.reserve(capacity);
  for (const auto& [uid, records] : live_) content += records;
  size_t used = content.size();
  content.resize(capacity, '\0');
  GT_ASSIGN_OR_RETURN(Fd file, OpenFile(temp, O_RDWR | O_CREAT | O_TRUNC, 0600));
  Status status = WriteAll(file.get(), content);
  if (status.ok() && fsync(file.get()) != 0) status = ErrnoStatus(errno, "fsync");
  if (status.ok() && rename(temp.c_str(), path_.c_str()) != 0) status = ErrnoStatus(errno, "rename");
  if (!status.ok()) {
    unlink(temp.c_str());
    return status.WithContext(path_);
  }
  file_ = std::move(file);
  capacity_ = capacity;
  used_ = used;
  buffer_.clear();  // every record that still matters is in live_
  return SyncDirectory(DirectoryOf(path_));
}

Status Journal::Append(const Uid& uid, const std::string& record, bool keep_reserve) {
  // One word of zeros must follow the last record: it ends the reading.
  size_t limit = capacity_ - sizeof(uint32_t) - (keep_reserve ? capacity_ / 4 : 0);
  if (used_ + record.size() > limit) GT_RETURN_IF_ERROR(Rewrite(record.size()));
  buffer_ += record;
  used_ += record.size();
  auto found = live_.find(uid);
  if (found == live_.end()) found = live_.emplace(uid, "").first;
  found->second += record;
  live_bytes_ += record.size();
  return OkStatus();
}

Status Journal::AppendStart(const Started& start) { return Append(start.uid, Encode(Kind::kStart, start), true); }

Status Journal::AppendKeeper(const Uid& uid, const KeeperId& keeper) {
  return Append(uid, Encode(Kind::kKeeper, uid, keeper.pid, keeper.start_ticks), false);
}

Status Journal::AppendExit(const ExitRecord& record) { return Append(record.uid, Encode(Kind::kExit, record), false); }

Status Journal::AppendForget(const Uid& uid) {
  auto found = live_.find(uid);
  if (found == live_.end()) return OkStatus();
  Status status = Append(uid, Encode(Kind::kForget, uid), false);
  live_bytes_ -= live_[uid].size();
  live_.erase(uid);
  return status;  // on failure the attempt comes back after a restart, and is forgotten again then
}

Status Journal::Write() {
  if (buffer_.empty()) return OkStatus();
  GT_RETURN_IF_ERROR(WriteAllAt(file_.get(), buffer_, static_cast<int64_t>(used_ - buffer_.size())));
  buffer_.clear();
  return OkStatus();
}

Status Journal::Sync() {
  GT_RETURN_IF_ERROR(Write());
  return fdatasync(file_.get()) == 0 ? OkStatus() : ErrnoStatus(errno, path_);
}

}  // namespace gt::launcher
