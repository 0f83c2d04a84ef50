// A disk in memory for SQLite, WAL included, that can lose power, die in the middle and run full. Deterministic by its seed.
//
// What a database has written is in the "page cache" at once; only xSync makes it durable. Kill() is the end of a process:
// the cache stays. LosePower() is the end of the machine: unsynced writes are lost, or any part of them is there.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "common/base/rng.h"

struct sqlite3_vfs;

namespace gt {

namespace mem_vfs {
struct File;
}

class MemDisk {
 public:
  // Registers a VFS under a name of its own. Destroy after every database on it is closed.
  explicit MemDisk(uint64_t seed);
  ~MemDisk();
  MemDisk(const MemDisk&) = delete;
  MemDisk& operator=(const MemDisk&) = delete;

  const std::string& vfs_name() const { return name_; }

  // What is open now belongs to a process that is gone: every operation on it fails from now on and changes nothing.
  void Kill();
  enum class Unsynced { kLost, kTorn };  // kTorn: any subset of the writes, the last of them cut at a sector
  void LosePower(Unsynced unsynced);

  // Changing operations (write, truncate, sync, delete) so far. After `count` more of them all fail, until Kill or LosePower.
  int64_t operations() const { return operations_; }
  void DieAfter(int64_t count) { die_at_ = operations_ + count; }
  bool dead() const { return operations_ >= die_at_; }

  // Writes that would make the files larger than this together get "disk full".
  void SetCapacity(int64_t bytes) { capacity_ = bytes; }
  int64_t UsedBytes() const;

  // For damage on purpose: flips a byte. False when the file is not that long.
  bool Damage(const std::string& file, int64_t at);

 private:
  friend struct MemVfsMethods;
  bool Spend();  // one changing operation; false: dead
  std::map<std::string, std::shared_ptr<mem_vfs::File>> Survivors() const;

  std::string name_;
  std::unique_ptr<sqlite3_vfs> vfs_;
  mutable std::recursive_mutex mutex_;  // guards all below and the files
  Rng rng_;
  std::map<std::string, std::shared_ptr<mem_vfs::File>> files_;
  int64_t operations_ = 0;
  int64_t die_at_ = INT64_MAX;
  int64_t capacity_ = INT64_MAX;
};

}  // namespace gt
