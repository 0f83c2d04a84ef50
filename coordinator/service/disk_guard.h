// How much space the data directory's file system has left, and a reserve that is given up when there is none, so that
// cancels and results still fit. Any thread.
#pragma once
#include <atomic>
#include <mutex>
#include <string>

#include "common/base/status.h"
#include "common/base/time.h"

namespace gt {

enum class Space { kEnough, kLow, kNone };  // kLow: no logs are taken in; kNone: no submits either

class DiskGuard {
 public:
  DiskGuard(std::string dir, int64_t low, int64_t least) : dir_(std::move(dir)), low_(low), least_(least) {}

  // Looks again when the last look is older than a second.
  Space Look(Millis mono_now);
  int64_t free() const { return free_.load(); }  // bytes at the last look
  // What is refused or paused now, for people; empty: nothing.
  std::string Note(Millis mono_now);
  // Makes the reserve (again) when there is plenty of space; best effort.
  void Reserve();
  // Frees it; false when there was none.
  bool Release();
  // For a start: a database cannot be opened on a full disk. Frees the reserve when there is no room; true if so.
  bool MakeRoom();

 private:
  std::string ReservePath() const { return dir_ + "/reserve"; }

  const std::string dir_;
  const int64_t low_, least_;
  std::mutex mutex_;
  std::atomic<Millis> looked_{-kHour};
  std::atomic<Space> space_{Space::kEnough};
  std::atomic<int64_t> free_{0};
};

}  // namespace gt
