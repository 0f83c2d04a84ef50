// The log store's inside. Locks, taken in this order: loading (one cold attempt at a time), mutex (everything below it).
// Files are opened when needed and not kept, but for the segment being written: attempts may be many.
#pragma once
#include <atomic>
#include <map>
#include <mutex>

#include "coordinator/logs/attempt_log.h"
#include "coordinator/logs/segment.h"

namespace gt {

// A write on its way into the files: what will be noted once they are written.
struct LogPending {
  struct Item {
    std::shared_ptr<logs::AttemptLog> log;
    logs::Frame frame;
    bool small = false;
    int64_t position = 0;  // within its buffer
  };
  std::vector<Item> items;
  std::string segment;                                                // bytes for the shared segment
  std::map<std::shared_ptr<logs::AttemptLog>, std::string> own;       // bytes for files of their own
  std::map<std::pair<Uid, LogStream>, uint64_t> ends;                 // of streams that this write moves
  std::map<Uid, int64_t> small_data;                                  // added by this write
  std::map<Uid, bool> own_now;                                        // goes on in its own file
  std::map<Uid, size_t> expected;                                     // bytes of this write, about
};

struct LogStore::Impl {
  Impl(std::string dir, LogStoreOptions options) : dir(std::move(dir)), options(options) {}

  Status OpenSegments();
  void CountOwnFiles();
  std::string SegmentPath(uint64_t number) const;
  std::string OwnPath(const Uid& uid) const;

  // The attempt, from memory or from disk; never null. Takes the locks itself.
  Result<std::shared_ptr<logs::AttemptLog>> Get(const Uid& uid);
  Result<std::shared_ptr<logs::AttemptLog>> LoadCold(const Uid& uid);
  Status LoadSmall(logs::AttemptLog* log);   // under mutex
  void Evict();                              // under mutex

  // All under mutex.
  Status CheckSpace();
  void Plan(const LogInput& input, const std::shared_ptr<logs::AttemptLog>& log, LogPending* pending);
  void PlanFrame(const std::shared_ptr<logs::AttemptLog>& log, logs::Frame frame, std::string_view data, LogPending* pending);
  Status Write(LogPending* pending);
  void Note(const LogPending& pending);
  Status RollSegment();
  Status AppendToSegment(const std::string& bytes);

  Status Sync(uint64_t ticket);              // takes the locks itself
  void Notify(const std::vector<Uid>& uids);

  // Retention, retention.cc.
  Status MoveKept(const logs::SealedSegment& segment, const std::function<bool(const Uid&)>& keep);  // under mutex
  Status ExpireOwnFiles(Millis cutoff_wall, const std::function<bool(const Uid&)>& keep);

  const std::string dir;
  const LogStoreOptions options;

  std::mutex loading;
  std::mutex mutex;
  std::unordered_map<Uid, std::shared_ptr<logs::AttemptLog>> attempts;
  uint64_t use_clock = 0;
  std::map<uint64_t, std::unique_ptr<logs::SealedSegment>> sealed;
  uint64_t active_number = 1;
  logs::ActiveSegment active;
  uint64_t next_arrival = 1;
  std::vector<Fd> dirty;            // written and not synced, besides the active segment
  bool active_dirty = false;
  uint64_t written = 0;             // writes so far
  Millis space_checked = 0;
  Status space;
  Status broken;                    // a sync failed: what is on disk is unknown

  std::mutex syncing;
  uint64_t synced = 0;              // writes that are on disk; guarded by syncing
  std::atomic<int64_t> total_bytes{0};

  std::recursive_mutex following;
  uint64_t next_follower = 1;
  std::unordered_map<Uid, std::map<uint64_t, std::function<void()>>> followers;
  std::unordered_map<uint64_t, Uid> followed;
};

}  // namespace gt
