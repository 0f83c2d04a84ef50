#include "tests/support/mem_vfs.h"

#include <sqlite3.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "common/base/assert.h"

namespace gt {

namespace mem_vfs {

constexpr size_t kSector = 512;

// One write or truncation that is not synced: enough to undo and to redo a part of it.
struct Change {
  size_t offset = 0, size_before = 0, size_after = 0;
  std::string before, after;  // of what existed at `offset`, of what was written there; a truncation writes nothing
};

struct Shm {
  std::vector<std::unique_ptr<char[]>> regions;
  int shared[SQLITE_SHM_NLOCK] = {};
  bool exclusive[SQLITE_SHM_NLOCK] = {};
};

struct File {
  std::string bytes;
  std::vector<Change> unsynced;
  bool created_durably = false;
  bool dead = false;  // of a process that is gone
  int shared = 0;
  const void *reserved = nullptr, *exclusive = nullptr;  // handles
  Shm shm;

  void Apply(const Change& change, size_t keep) {
    bytes.resize(std::max(bytes.size(), change.offset + keep));
    bytes.replace(change.offset, keep, change.after, 0, keep);
    if (change.after.empty()) bytes.resize(change.size_after);
  }
  void UndoAll() {
    for (; !unsynced.empty(); unsynced.pop_back()) {
      const Change& change = unsynced.back();
      bytes.resize(std::max(bytes.size(), change.offset + change.before.size()));
      bytes.replace(change.offset, change.before.size(), change.before);
      bytes.resize(change.size_before);
    }
  }
  void Tear(Rng* rng) {
    std::vector<Change> changes = unsynced;
    UndoAll();
    for (const Change& change : changes) {
      if (rng->OneIn(2)) continue;
      size_t keep = change.after.size();
      if (&change == &changes.back() || rng->OneIn(4)) keep = std::min(keep, kSector * rng->Below(keep / kSector + 1));
      if (keep > 0 || change.after.empty()) Apply(change, keep);
    }
  }
};

struct Handle {
  sqlite3_file base;
  MemDisk* disk;
  std::shared_ptr<File>* file;
  std::string* name;
  bool delete_on_close;
  int level;
  uint16_t shm_shared, shm_exclusive;
};

}  // namespace mem_vfs

using mem_vfs::File;
using mem_vfs::Handle;

// SQLite's callbacks. Each takes the disk's lock.
struct MemVfsMethods {
  static Handle* Of(sqlite3_file* f) { return reinterpret_cast<Handle*>(f); }
  static MemDisk* DiskOf(sqlite3_vfs* vfs) { return static_cast<MemDisk*>(vfs->pAppData); }
  static std::unique_lock<std::recursive_mutex> Lock(Handle* h) { return std::unique_lock(h->disk->mutex_); }

  static int Close(sqlite3_file* f) {
    Handle* h = Of(f);
    auto lock = Lock(h);
    SetLevel(h, SQLITE_LOCK_NONE);
    if (h->delete_on_close && !(*h->file)->dead) h->disk->files_.erase(*h->name);
    delete h->file;
    delete h->name;
    return SQLITE_OK;
  }

  static int Read(sqlite3_file* f, void* to, int amount, sqlite3_int64 at) {
    Handle* h = Of(f);
    auto lock = Lock(h);
    const File& file = **h->file;
    if (file.dead) return SQLITE_IOERR_READ;
    size_t from = std::min(file.bytes.size(), static_cast<size_t>(at));
    size_t have = std::min(file.bytes.size() - from, static_cast<size_t>(amount));
    std::memcpy(to, file.bytes.data() + from, have);
    if (have == static_cast<size_t>(amount)) return SQLITE_OK;
    std::memset(static_cast<char*>(to) + have, 0, amount - have);
    return SQLITE_IOERR_SHORT_READ;
  }

  static int Write(sqlite3_file* f, const void* data, int amount, sqlite3_int64 at) {
    Handle* h = Of(f);
    auto lock = Lock(h);
    File& file = **h->file;
    if (file.dead || !h->disk->Spend()) return SQLITE_IOERR_WRITE;
    size_t offset = static_cast<size_t>(at), end = offset + static_cast<size_t>(amount);
    size_t grown = end > file.bytes.size() ? end - file.bytes.size() : 0;
    if (grown > 0 && h->disk->UsedBytes() + static_cast<int64_t>(grown) > h->disk->capacity_) return SQLITE_FULL;
    mem_vfs::Change change{.offset = offset, .size_before = file.bytes.size(), .size_after = std::max(end, file.bytes.size())};
    if (offset < file.bytes.size()) change.before = file.bytes.substr(offset, amount);
    change.after.assign(static_cast<const char*>(data), amount);
    file.Apply(change, change.after.size());
    file.unsynced.push_back(std::move(change));
    return SQLITE_OK;
  }

  static int Truncate(sqlite3_file* f, sqlite3_int64 size) {
    Handle* h = Of(f);
    auto lock = Lock(h);
    File& file = **h->file;
    if (file.dead || !h->disk->Spend()) return SQLITE_IOERR_TRUNCATE;
    size_t to = static_cast<size_t>(size);
    if (to >= file.bytes.size()) return SQLITE_OK;
    file.unsynced.push_back({.offset = to, .size_before = file.bytes.size(), .size_after = to, .before = file.bytes.substr(to)});
    file.bytes.resize(to);
    return SQLITE_OK;
  }

  static int Sync(sqlite3_file* f, int) {
    Handle* h = Of(f);
    auto lock = Lock(h);
    File& file = **h->file;
    if (file.dead || !h->disk->Spend()) return SQLITE_IOERR_FSYNC;
    file.unsynced.clear();
    file.created_durably = true;
    return SQLITE_OK;
  }

  static int FileSize(sqlite3_file* f, sqlite3_int64* size) {
    Handle* h = Of(f);
    auto lock = Lock(h);
    *size = static_cast<sqlite3_int64>((*h->file)->bytes.size());
    return (*h->file)->dead ? SQLITE_IOERR_FSTAT : SQLITE_OK;
  }

  static bool MayTake(Handle* h, int level) {
    const File& file = **h->file;
    bool exclusive_elsewhere = file.exclusive != nullptr && file.exclusive != h;
    if (level == SQLITE_LOCK_SHARED) return !exclusive_elsewhere;
    if (file.reserved != nullptr && file.reserved != h) return false;
    if (level == SQLITE_LOCK_EXCLUSIVE) return !exclusive_elsewhere && file.shared <= (h->level >= SQLITE_LOCK_SHARED ? 1 : 0);
    return true;
  }
  static void SetLevel(Handle* h, int level) {
    File& file = **h->file;
    if (h->level < SQLITE_LOCK_SHARED && level >= SQLITE_LOCK_SHARED) file.shared++;
    if (h->level >= SQLITE_LOCK_SHARED && level < SQLITE_LOCK_SHARED) file.shared--;
    if (level >= SQLITE_LOCK_RESERVED) file.reserved = h;
    else if (file.reserved == h) file.reserved = nullptr;
    if (level >= SQLITE_LOCK_EXCLUSIVE) file.exclusive = h;
    else if (file.exclusive == h) file.exclusive = nullptr;
    h->level = level;
  }
  static int LockFile(sqlite3_file* f, int level) {
    Handle* h = Of(f);
    auto lock = Lock(h);
    if ((*h->file)->dead) return SQLITE_IOERR_LOCK;
    if (level <= h->level) return SQLITE_OK;
    if (!MayTake(h, level)) return SQLITE_BUSY;
    SetLevel(h, level);
    return SQLITE_OK;
  }
  static int UnlockFile(sqlite3_file* f, int level) {
    Handle* h = Of(f);
    auto lock = Lock(h);
    if (level < h->level) SetLevel(h, level);
    return SQLITE_OK;
  }
  static int CheckReserved(sqlite3_file* f, int* out) {
    Handle* h = Of(f);
    auto lock = Lock(h);
    *out = (*h->file)->reserved != nullptr;
    return SQLITE_OK;
  }
  static int Control(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
  static int SectorSize(sqlite3_file*) { return 4096; }
  static int Characteristics(sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; }

  static int ShmMap(sqlite3_file* f, int region, int size, int extend, void volatile** out) {
    Handle* h = Of(f);
    auto lock = Lock(h);
    *out = nullptr;
    mem_vfs::Shm& shm = (*h->file)->shm;
    if ((*h->file)->dead) return SQLITE_IOERR_SHMMAP;
    if (static_cast<size_t>(region) >= shm.regions.size() && extend == 0) return SQLITE_OK;
    while (static_cast<size_t>(region) >= shm.regions.size()) shm.regions.push_back(std::make_unique<char[]>(size));
    *out = shm.regions[region].get();
    return SQLITE_OK;
  }

  static int ShmLock(sqlite3_file* f, int first, int count, int flags) {
    Handle* h = Of(f);
    auto lock = Lock(h);
    mem_vfs::Shm& shm = (*h->file)->shm;
    if ((*h->file)->dead) return SQLITE_IOERR_SHMLOCK;
    bool shared = (flags & SQLITE_SHM_SHARED) != 0;
    uint16_t& mine = shared ? h->shm_shared : h->shm_exclusive;
    for (int i = first; i < first + count && (flags & SQLITE_SHM_LOCK) != 0; i++) {
      bool others_share = shm.shared[i] > ((h->shm_shared >> i & 1) != 0 ? 1 : 0);
      bool others_exclude = shm.exclusive[i] && (h->shm_exclusive >> i & 1) == 0;
      if (others_exclude || (!shared && others_share)) return SQLITE_BUSY;
    }
    for (int i = first; i < first + count; i++) {
      uint16_t bit = static_cast<uint16_t>(1u << i);
      bool had = (mine & bit) != 0, wants = (flags & SQLITE_SHM_LOCK) != 0;
      if (had == wants) continue;
      mine = static_cast<uint16_t>(mine ^ bit);
      if (shared) shm.shared[i] += wants ? 1 : -1;
      else shm.exclusive[i] = wants;
    }
    return SQLITE_OK;
  }
  static void ShmBarrier(sqlite3_file*) { std::atomic_thread_fence(std::memory_order_seq_cst); }
  static int ShmUnmap(sqlite3_file* f, int remove) {
    Handle* h = Of(f);
    auto lock = Lock(h);
    if (remove != 0) (*h->file)->shm.regions.clear();
    return SQLITE_OK;
  }

  static int Open(sqlite3_vfs* vfs, const char* name, sqlite3_file* f, int flags, int* out_flags) {
    MemDisk* disk = DiskOf(vfs);
    std::lock_guard lock(disk->mutex_);
    f->pMethods = nullptr;
    if (disk->dead()) return SQLITE_CANTOPEN;
    static const sqlite3_io_methods kMethods = {2, Close, Read, Write, Truncate, Sync, FileSize, LockFile, UnlockFile, CheckReserved,
                                                Control, SectorSize, Characteristics, ShmMap, ShmLock, ShmBarrier, ShmUnmap, nullptr, nullptr};
    std::string key = name != nullptr ? name : "temp-" + std::to_string(disk->rng_.Next());
    auto found = disk->files_.find(key);
    if (found == disk->files_.end()) {
      if ((flags & SQLITE_OPEN_CREATE) == 0 && name != nullptr) return SQLITE_CANTOPEN;
      found = disk->files_.emplace(key, std::make_shared<File>()).first;
    }
    *Of(f) = {.base = {&kMethods}, .disk = disk, .file = new std::shared_ptr<File>(found->second), .name = new std::string(key),
              .delete_on_close = (flags & SQLITE_OPEN_DELETEONCLOSE) != 0, .level = SQLITE_LOCK_NONE, .shm_shared = 0, .shm_exclusive = 0};
    if (out_flags != nullptr) *out_flags = flags;
    return SQLITE_OK;
  }
  static int Delete(sqlite3_vfs* vfs, const char* name, int) {
    MemDisk* disk = DiskOf(vfs);
    std::lock_guard lock(disk->mutex_);
    if (!disk->Spend()) return SQLITE_IOERR_DELETE;
    return disk->files_.erase(name) == 1 ? SQLITE_OK : SQLITE_IOERR_DELETE_NOENT;
  }
  static int Access(sqlite3_vfs* vfs, const char* name, int, int* out) {
    MemDisk* disk = DiskOf(vfs);
    std::lock_guard lock(disk->mutex_);
    *out = disk->files_.contains(name);
    return SQLITE_OK;
  }
  static int FullPath(sqlite3_vfs*, const char* name, int size, char* out) {
    sqlite3_snprintf(size, out, "%s", name);
    return SQLITE_OK;
  }
  static int Randomness(sqlite3_vfs* vfs, int size, char* out) {
    MemDisk* disk = DiskOf(vfs);
    std::lock_guard lock(disk->mutex_);
    for (int i = 0; i < size; i++) out[i] = static_cast<char>(disk->rng_.Next());
    return size;
  }
  static int Sleep(sqlite3_vfs*, int micros) {
    std::this_thread::yield();  // time is not ours to spend
    return micros;
  }
  static int CurrentTime(sqlite3_vfs*, double* out) { return *out = 2460000.5, SQLITE_OK; }
  static int LastError(sqlite3_vfs*, int, char*) { return 0; }
};

MemDisk::MemDisk(uint64_t seed) : vfs_(std::make_unique<sqlite3_vfs>()), rng_(seed) {
  static std::atomic<uint64_t> count = 0;  // names must differ within the process; nothing else depends on it
  name_ = "mem-" + std::to_string(count++);
  using M = MemVfsMethods;
  *vfs_ = {.iVersion = 1, .szOsFile = sizeof(Handle), .mxPathname = 512, .zName = name_.c_str(), .pAppData = this, .xOpen = M::Open,
           .xDelete = M::Delete, .xAccess = M::Access, .xFullPathname = M::FullPath, .xRandomness = M::Randomness, .xSleep = M::Sleep,
           .xCurrentTime = M::CurrentTime, .xGetLastError = M::LastError};
  GT_ASSERT(sqlite3_vfs_register(vfs_.get(), 0) == SQLITE_OK);
}

MemDisk::~MemDisk() { sqlite3_vfs_unregister(vfs_.get()); }

bool MemDisk::Spend() {
  if (dead()) return false;
  operations_++;
  return true;
}

int64_t MemDisk::UsedBytes() const {
  std::lock_guard lock(mutex_);
  int64_t used = 0;
  for (const auto& [name, file] : files_) used += static_cast<int64_t>(file->bytes.size());
  return used;
}

bool MemDisk::Damage(const std::string& name, int64_t at) {
  std::lock_guard lock(mutex_);
  auto found = files_.find(name);
  if (found == files_.end() || at >= static_cast<int64_t>(found->second->bytes.size())) return false;
  found->second->bytes[at] ^= 0x55;
  return true;
}

// Copies without locks and shared memory; the old ones stay with their handles, dead.
std::map<std::string, std::shared_ptr<File>> MemDisk::Survivors() const {
  std::map<std::string, std::shared_ptr<File>> survivors;
  for (const auto& [name, file] : files_) {
    auto copy = std::make_shared<File>();
    copy->bytes = file->bytes;
    copy->unsynced = file->unsynced;
    copy->created_durably = file->created_durably;
    file->dead = true;
    survivors.emplace(name, std::move(copy));
  }
  return survivors;
}

void MemDisk::Kill() {
  std::lock_guard lock(mutex_);
  files_ = Survivors();
  die_at_ = INT64_MAX;
}

void MemDisk::LosePower(Unsynced unsynced) {
  std::lock_guard lock(mutex_);
  files_ = Survivors();
  std::erase_if(files_, [](const auto& entry) { return !entry.second->created_durably; });
  for (auto& [name, file] : files_) {
    if (unsynced == Unsynced::kTorn) file->Tear(&rng_);
    else file->UndoAll();
    file->unsynced.clear();
  }
  die_at_ = INT64_MAX;
}

}  // namespace gt
