#include "coordinator/service/disk_guard.h"

#include <fcntl.h>

#include "common/base/units.h"
#include "common/os/file.h"

namespace gt {
namespace {
constexpr int64_t kReserveBytes = 16 << 20;
constexpr int64_t kStartBytes = 4 << 20;
}

Space DiskGuard::Look(Millis mono_now) {
  if (mono_now - looked_.load() < kSecond) return space_.load();
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return space_.load();
  looked_ = mono_now;
  Result<int64_t> free = FreeBytes(dir_);
  if (!free.ok()) return space_.load();  // an odd file system: a write will tell
  free_ = *free;
  space_ = *free < least_ ? Space::kNone : *free < low_ ? Space::kLow : Space::kEnough;
  return space_.load();
}

std::string DiskGuard::Note(Millis mono_now) {
  switch (Look(mono_now)) {
    case Space::kEnough: return "";
    case Space::kLow: return "less than disk_low (" + HumanBytes(low_) + ") is free: output waits on the nodes";
    case Space::kNone: return "less than disk_min (" + HumanBytes(least_) + ") is free: output waits on the nodes, and no new jobs are taken";
  }
  return "";
}

void DiskGuard::Reserve() {
  std::lock_guard lock(mutex_);
  Result<int64_t> free = FreeBytes(dir_);
  if (!free.ok() || *free < low_ + kReserveBytes || Exists(ReservePath())) return;
  Result<Fd> fd = OpenFile(ReservePath(), O_WRONLY | O_CREAT, 0600);
  if (!fd.ok()) return;
  if (!Preallocate(fd->get(), kReserveBytes).ok()) (void)RemoveFile(ReservePath());
}

bool DiskGuard::Release() {
  std::lock_guard lock(mutex_);
  return Exists(ReservePath()) && RemoveFile(ReservePath()).ok();
}

bool DiskGuard::MakeRoom() {
  Result<int64_t> free = FreeBytes(dir_);
  return free.ok() && *free < kStartBytes && Release();
}

}  // namespace gt
