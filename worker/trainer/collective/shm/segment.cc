#include "worker/trainer/collective/shm/segment.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <fstream>
#include <thread>

namespace gt::trainer {
namespace {

constexpr int kMostRanks = 256;
constexpr long kSliceNs = 20'000'000;  // how long one futex wait lasts before peers are checked
constexpr size_t kPage = 4096;

void Relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

}  // namespace

struct ShmSegment::Header {
  struct alignas(64) Rank {
    std::atomic<uint32_t> met{0};
    std::atomic<int32_t> pid{0};
  };
  uint64_t nonce;
  alignas(64) std::atomic<uint32_t> wake{0};
  alignas(64) std::atomic<uint32_t> sleepers{0};
  Rank ranks[kMostRanks];
};

std::string HostIdentity() {
  std::string boot_id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot_id;
  struct stat pid_namespace{};
  if (stat("/proc/self/ns/pid", &pid_namespace) != 0) pid_namespace.st_ino = static_cast<ino_t>(getpid());
  return boot_id + "/" + std::to_string(pid_namespace.st_ino) + "/" + std::to_string(geteuid());
}

ShmSegment::ShmSegment(int rank, int world_size, size_t slot_bytes)
    : rank_(rank), world_size_(world_size), slot_bytes_(slot_bytes), peer_pidfds_(static_cast<size_t>(world_size), -1) {
  // Spinning pays only while every rank can have a core of its own.
  spins_ = std::thread::hardware_concurrency() >= static_cast<unsigned>(world_size) ? 4000 : 50;
}

ShmSegment::~ShmSegment() {
  CloseDescriptor();
  for (int fd : peer_pidfds_)
    if (fd >= 0) close(fd);
  if (header_) munmap(header_, mapped_bytes_);
}

void ShmSegment::CloseDescriptor() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

Status ShmSegment::Map(int fd) {
  size_t header_bytes = (sizeof(Header) + kPage - 1) / kPage * kPage;
  mapped_bytes_ = header_bytes + 2 * static_cast<size_t>(world_size_) * slot_bytes_;
  void* memory = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return ErrnoStatus(errno, "mmap of the shared segment");
  header_ = static_cast<Header*>(memory);
  data_ = static_cast<char*>(memory) + header_bytes;
  return OkStatus();
}

Result<std::unique_ptr<ShmSegment>> ShmSegment::Create(int world_size, size_t slot_bytes) {
  if (world_size > kMostRanks) return Status(Code::kResourceExhausted, "too many ranks for one shared segment");
  std::unique_ptr<ShmSegment> segment(new ShmSegment(0, world_size, slot_bytes));
  segment->fd_ = memfd_create("gridtrain-group", MFD_CLOEXEC);
  if (segment->fd_ < 0) return ErrnoStatus(errno, "memfd_create");
  size_t bytes = (sizeof(Header) + kPage - 1) / kPage * kPage + 2 * static_cast<size_t>(world_size) * slot_bytes;
  if (ftruncate(segment->fd_, static_cast<off_t>(bytes)) != 0)
    return ErrnoStatus(errno, "ftruncate of the shared segment");
  GT_RETURN_IF_ERROR(segment->Map(segment->fd_));
  new (segment->header_) Header{};
  if (getrandom(&segment->header_->nonce, sizeof segment->header_->nonce, 0) < 0)
    return ErrnoStatus(errno, "getrandom");
  segment->header_->ranks[0].pid = getpid();
  return segment;
}

std::string ShmSegment::Handle() const {
  return std::to_string(getpid()) + ":" + std::to_string(fd_) + ":" + std::to_string(header_->nonce);
}

Result<std::unique_ptr<ShmSegment>> ShmSegment::Open(const std::string& handle, int rank, int world_size,
                                                     size_t slot_bytes) {
  int pid = 0, fd = 0;
  unsigned long long nonce = 0;
  if (std::sscanf(handle.c_str(), "%d:%d:%llu", &pid, &fd, &nonce) != 3 || rank >= world_size ||
      world_size > kMostRanks)
    return Status(Code::kInvalidArgument, "not a shared segment: '" + handle + "'");
  std::unique_ptr<ShmSegment> segment(new ShmSegment(rank, world_size, slot_bytes));
  std::string path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(fd);
  segment->fd_ = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (segment->fd_ < 0) return ErrnoStatus(errno, path);
  struct stat info{};
  size_t header_bytes = (sizeof(Header) + kPage - 1) / kPage * kPage;
  size_t wanted = header_bytes + 2 * static_cast<size_t>(world_size) * slot_bytes;
  if (fstat(segment->fd_, &info) != 0 || !S_ISREG(info.st_mode) || static_cast<size_t>(info.st_size) != wanted)
    return Status(Code::kFailedPrecondition, path + " is not the shared segment of this group");
  GT_RETURN_IF_ERROR(segment->Map(segment->fd_));
  if (segment->header_->nonce != nonce) return Status(Code::kFailedPrecondition, path + " is another group's segment");
  segment->header_->ranks[rank].pid = getpid();
  segment->CloseDescriptor();
  return segment;
}

void ShmSegment::Abort(const std::string& why) {
  std::lock_guard lock(abort_mutex_);
  if (aborted_) return;
  why_ = why;
  aborted_ = true;
  header_->wake.fetch_add(1);  // who is about to sleep must not
  syscall(SYS_futex, &header_->wake, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

Status ShmSegment::CheckAlive(int peer) {
  int& pidfd = peer_pidfds_[static_cast<size_t>(peer)];
  pid_t pid = header_->ranks[peer].pid;
  if (pid == 0) return OkStatus();  // it has not come yet
  bool gone = false;
  if (pidfd < 0) {
    pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    gone = pidfd < 0 && errno == ESRCH;
  }
  pollfd poll_fd{pidfd, POLLIN, 0};
  if (pidfd >= 0) gone = poll(&poll_fd, 1, 0) > 0;  // readable: it has exited, reaped or not
  if (!gone) return OkStatus();
  return Status(Code::kUnavailable, "rank " + std::to_string(peer) + " (pid " + std::to_string(pid) + ") is gone");
}

Status ShmSegment::WaitFor(int peer, uint32_t count) {
  std::atomic<uint32_t>& met = header_->ranks[peer].met;
  auto there = [&] { return static_cast<int32_t>(met.load(std::memory_order_acquire) - count) >= 0; };
  for (int i = 0; i < spins_; ++i) {
    if (there()) return OkStatus();
    Relax();
  }
  while (!there()) {
    if (aborted_) return Status(Code::kUnavailable, why_);
    header_->sleepers.fetch_add(1);
    uint32_t seen = header_->wake.load();
    bool timed_out = false;
    if (!there() && !aborted_) {
      timespec slice{0, kSliceNs};
      timed_out = syscall(SYS_futex, &header_->wake, FUTEX_WAIT, seen, &slice, nullptr, 0) != 0 && errno == ETIMEDOUT;
    }
    header_->sleepers.fetch_sub(1);
    if (timed_out && !there()) GT_RETURN_IF_ERROR(CheckAlive(peer));
  }
  return OkStatus();
}

Status ShmSegment::Meet() {
  if (aborted_) return Status(Code::kUnavailable, why_);
  ++count_;
  header_->ranks[rank_].met.store(count_, std::memory_order_release);
  header_->wake.fetch_add(1);
  if (header_->sleepers.load() > 0) syscall(SYS_futex, &header_->wake, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  for (int peer = 0; peer < world_size_; ++peer)
    if (peer != rank_) GT_RETURN_IF_ERROR(WaitFor(peer, count_));
  return OkStatus();
}

}  // namespace gt::trainer
