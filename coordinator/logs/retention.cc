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

Status LogStore::DeleteAttempt(const Uid& uid) {
  GT_ASSIGN_OR_RETURN(std::shared_ptr<AttemptLog> log, impl_->Get(uid));
  uint64_t ticket;
  {
    std::lock_guard lock(impl_->mutex);
    GT_RETURN_IF_ERROR(impl_->broken);
    if (!log->small.empty()) {
      LogPending pending;
      Frame tombstone{.uid = uid, .kind = FrameKind::kDeleted, .arrival = impl_->next_arrival};
      pending.items.push_back({.log = log, .frame = tombstone, .small = true});
      logs::AppendFrame(&pending.segment, tombstone, "");
      GT_RETURN_IF_ERROR(impl_->Write(&pending));
      impl_->Note(pending);
      impl_->written++;
    }
    if (log->own_bytes > 0) {
      GT_RETURN_IF_ERROR(RemoveFile(log->own_path));
      impl_->total_bytes -= log->own_bytes;
    }
    log->Clear();
    log->own_bytes = 0;
    log->points.clear();
    ticket = impl_->written;
  }
  return impl_->Sync(ticket);
}

Status LogStore::Expire(Millis cutoff_wall, const std::function<bool(const Uid&)>& keep) {
  std::lock_guard load_lock(impl_->loading);  // nobody reads cold what is being moved
  uint64_t last = 0;  // what is moved ends up in newer ones, which are left alone
  {
    std::lock_guard lock(impl_->mutex);
    GT_RETURN_IF_ERROR(impl_->broken);
    struct stat info;
    bool active_old = impl_->active.size > 0 && fstat(impl_->active.fd.get(), &info) == 0 &&
                      info.st_mtim.tv_sec * 1000 + info.st_mtim.tv_nsec / 1'000'000 < cutoff_wall;
    if (active_old) GT_RETURN_IF_ERROR(impl_->RollSegment());
    if (!impl_->sealed.empty()) last = impl_->sealed.rbegin()->first;
  }
  for (;;) {
    uint64_t ticket;
    {
      std::lock_guard lock(impl_->mutex);
      GT_RETURN_IF_ERROR(impl_->broken);
      // Oldest first, without leaving one out: a tombstone must not go before what it voids.
      auto oldest = impl_->sealed.begin();
      bool due = oldest != impl_->sealed.end() && oldest->first <= last && oldest->second->sealed_wall() < cutoff_wall;
      if (!due) break;
      GT_RETURN_IF_ERROR(impl_->MoveKept(*oldest->second, keep));
      ticket = impl_->written;
    }
    GT_RETURN_IF_ERROR(impl_->Sync(ticket));
    std::lock_guard lock(impl_->mutex);
    auto oldest = impl_->sealed.begin();
    std::string path = oldest->second->path();
    impl_->total_bytes -= oldest->second->bytes();
    impl_->sealed.erase(oldest);
    // First the frames: an index without them is harmless, frames without it would be indexed again.
    GT_RETURN_IF_ERROR(RemoveFile(path));
    GT_RETURN_IF_ERROR(RemoveFile(logs::IndexPathOf(path)));
    for (auto& [uid, log] : impl_->attempts) {
      std::erase_if(log->small, [&](const logs::SmallRef& ref) { return ref.path == path; });
    }
  }
  return impl_->ExpireOwnFiles(cutoff_wall, keep);
}

// Kept frames are written again, at the end of the newest segment. They keep their arrival, which is their order.
Status LogStore::Impl::MoveKept(const logs::SealedSegment& segment, const std::function<bool(const Uid&)>& keep) {
  GT_ASSIGN_OR_RETURN(Fd fd, OpenFile(segment.path(), O_RDONLY));
  for (const Uid& uid : segment.Uids()) {
    if (!keep(uid)) {
      auto idle = attempts.find(uid);
      if (idle != attempts.end() && idle->second.use_count() == 1) attempts.erase(idle);  // what is left is read anew
      continue;
    }
    std::string bytes;
    std::vector<std::pair<Frame, int64_t>> moved;
    for (uint64_t position : segment.Find(uid)) {
      Frame frame;
      Result<std::string> data = logs::ReadFrameAt(fd.get(), static_cast<int64_t>(position), &frame);
      if (!data.ok() && data.status().code() == Code::kDataLoss) continue;
      if (!data.ok()) return data.status();
      moved.push_back({frame, static_cast<int64_t>(bytes.size())});
      logs::AppendFrame(&bytes, frame, *data);
    }
    bool full = active.size > 0 && active.size + static_cast<int64_t>(bytes.size()) > options.segment_bytes;
    if (full) GT_RETURN_IF_ERROR(RollSegment());
    GT_RETURN_IF_ERROR(AppendToSegment(bytes));
    auto log = attempts.find(uid);
    for (const auto& [frame, at] : moved) {
      uint64_t position = static_cast<uint64_t>(active.size + at);
      active.positions[uid].push_back(position);
      active.max_arrival = std::max(active.max_arrival, frame.arrival);
      if (log == attempts.end()) continue;
      for (logs::SmallRef& ref : log->second->small)
        if (ref.arrival == frame.arrival) ref = {active.path, position, frame.arrival};
    }
    active.size += static_cast<int64_t>(bytes.size());
    total_bytes += static_cast<int64_t>(bytes.size());
    written++;
  }
  return OkStatus();
}

Status LogStore::Impl::ExpireOwnFiles(Millis cutoff_wall, const std::function<bool(const Uid&)>& keep) {
  GT_ASSIGN_OR_RETURN(std::vector<std::string> folders, ListDirectory(dir + "/attempts"));
  for (const std::string& folder : folders) {
    GT_ASSIGN_OR_RETURN(std::vector<std::string> names, ListDirectory(dir + "/attempts/" + folder));
    for (const std::string& name : names) {
      std::string path = dir + "/attempts/" + folder + "/" + name;
      std::optional<Uid> uid = UidFromHex(std::string_view(name).substr(0, 32));
      struct stat info;
      if (!uid || stat(path.c_str(), &info) != 0) continue;
      if (info.st_mtim.tv_sec * 1000 + info.st_mtim.tv_nsec / 1'000'000 >= cutoff_wall || keep(*uid)) continue;
      std::lock_guard lock(mutex);
      auto known = attempts.find(*uid);
      if (known != attempts.end() && known->second.use_count() > 1) continue;  // somebody is at it: next time
      GT_RETURN_IF_ERROR(RemoveFile(path));
      total_bytes -= info.st_size;
      if (known != attempts.end()) attempts.erase(known);
    }
  }
  return OkStatus();
}

}  // namespace gt
