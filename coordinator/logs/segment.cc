#include "coordinator/logs/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

#include "common/base/crc32c.h"
#include "common/os/clock.h"
#include "common/os/file.h"

namespace gt::logs {
namespace {

struct IndexHeader {
  char magic[4];
  uint32_t crc;
  uint64_t count;
  int64_t log_bytes;
  int64_t sealed_wall;
  uint64_t max_arrival;
};
static_assert(sizeof(IndexHeader) == 40 && sizeof(IndexEntry) == 24 && std::endian::native == std::endian::little,
              "the index is mapped as it lies on disk");

const IndexEntry* EntriesOf(const void* map) {
  return reinterpret_cast<const IndexEntry*>(static_cast<const char*>(map) + sizeof(IndexHeader));
}

// What looking up relies on.
bool AreSound(std::span<const IndexEntry> entries, uint64_t log_bytes) {
  return std::is_sorted(entries.begin(), entries.end()) &&
         std::all_of(entries.begin(), entries.end(), [&](const IndexEntry& entry) { return entry.position < log_bytes; });
}

Result<int64_t> SizeOf(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return ErrnoStatus(errno, path);
  return static_cast<int64_t>(info.st_size);
}

}  // namespace

std::string IndexPathOf(const std::string& log_path) { return log_path.substr(0, log_path.size() - 4) + ".idx"; }

Status SealedSegment::WriteIndex(const std::string& log_path, std::vector<IndexEntry> entries, int64_t log_bytes, Millis sealed_wall,
                                 uint64_t max_arrival) {
  std::sort(entries.begin(), entries.end());
  IndexHeader header = {{'G', 'T', 'X', '1'}, 0, entries.size(), log_bytes, sealed_wall, max_arrival};
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  bytes.append(reinterpret_cast<const char*>(entries.data()), entries.size() * sizeof(IndexEntry));
  uint32_t crc = Crc32c(std::string_view(bytes).substr(8));
  std::memcpy(bytes.data() + 4, &crc, 4);
  return WriteFileDurably(IndexPathOf(log_path), bytes);
}

Result<std::unique_ptr<SealedSegment>> SealedSegment::Open(const std::string& log_path) {
  std::unique_ptr<SealedSegment> segment(new SealedSegment());
  segment->path_ = log_path;
  if (segment->Map(IndexPathOf(log_path)).ok()) return segment;
  GT_ASSIGN_OR_RETURN(ActiveSegment frames, ActiveSegment::Open(log_path));
  GT_RETURN_IF_ERROR(WriteIndex(log_path, frames.Entries(), frames.size, ReadClock().wall, frames.max_arrival));
  GT_RETURN_IF_ERROR(segment->Map(IndexPathOf(log_path)));
  return segment;
}

Status SealedSegment::Map(const std::string& index_path) {
  GT_ASSIGN_OR_RETURN(int64_t log_bytes, SizeOf(path_));
  GT_ASSIGN_OR_RETURN(Fd fd, OpenFile(index_path, O_RDONLY));
  GT_ASSIGN_OR_RETURN(int64_t size, SizeOf(index_path));
  Status bad(Code::kDataLoss, index_path + " does not fit its segment");
  if (size < static_cast<int64_t>(sizeof(IndexHeader))) return bad;
  void* map = mmap(nullptr, static_cast<size_t>(size), PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (map == MAP_FAILED) return ErrnoStatus(errno, index_path);
  std::string_view bytes(static_cast<const char*>(map), static_cast<size_t>(size));
  IndexHeader header;
  std::memcpy(&header, map, sizeof(header));
  size_t entry_bytes = bytes.size() - sizeof(IndexHeader);
  bool fits = std::memcmp(header.magic, "GTX1", 4) == 0 && header.crc == Crc32c(bytes.substr(8)) && header.log_bytes == log_bytes &&
              entry_bytes % sizeof(IndexEntry) == 0 && header.count == entry_bytes / sizeof(IndexEntry) &&
              AreSound({EntriesOf(map), header.count}, static_cast<uint64_t>(log_bytes));
  if (!fits) {
    munmap(map, bytes.size());
    return bad;
  }
  map_ = map;
  map_bytes_ = bytes.size();
  count_ = header.count;
  log_bytes_ = log_bytes;
  sealed_wall_ = header.sealed_wall;
  max_arrival_ = header.max_arrival;
  return OkStatus();
}

SealedSegment::~SealedSegment() {
  if (map_ != nullptr) munmap(map_, map_bytes_);
}

const IndexEntry* SealedSegment::begin() const { return EntriesOf(map_); }

std::vector<uint64_t> SealedSegment::Find(const Uid& uid) const {
  std::vector<uint64_t> positions;
  for (const IndexEntry* at = std::lower_bound(begin(), end(), IndexEntry{uid, 0}); at != end() && at->uid == uid; at++)
    positions.push_back(at->position);
  return positions;
}

std::vector<Uid> SealedSegment::Uids() const {
  std::vector<Uid> uids;
  for (const IndexEntry* at = begin(); at != end(); at++)
    if (uids.empty() || uids.back() != at->uid) uids.push_back(at->uid);
  return uids;
}

Result<ActiveSegment> ActiveSegment::Open(const std::string& path) {
  ActiveSegment segment;
  segment.path = path;
  GT_ASSIGN_OR_RETURN(segment.fd, OpenFile(path, O_RDWR | O_CREAT));
  GT_ASSIGN_OR_RETURN(int64_t size, SizeOf(path));
  GT_ASSIGN_OR_RETURN(segment.size, ScanFrames(segment.fd.get(), 0, size, 0, [&](const Frame& frame, int64_t position) {
    segment.positions[frame.uid].push_back(static_cast<uint64_t>(position));
    segment.max_arrival = std::max(segment.max_arrival, frame.arrival);
  }));
  if (segment.size < size && ftruncate(segment.fd.get(), segment.size) != 0) return ErrnoStatus(errno, path);
  return segment;
}

std::vector<IndexEntry> ActiveSegment::Entries() const {
  std::vector<IndexEntry> entries;
  for (const auto& [uid, list] : positions)
    for (uint64_t position : list) entries.push_back({uid, position});
  return entries;
}

}  // namespace gt::logs
