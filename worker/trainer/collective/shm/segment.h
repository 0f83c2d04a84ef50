// Memory that the ranks of one host share, and their meeting point in it. It is a memfd, reached by peers through
// /proc/<pid>/fd: it has no name that a killed rank could leave behind, and the size of /dev/shm does not matter.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace gt::trainer {

// Equal exactly for processes that can reach each other's memfds: same boot, same pid namespace, same user.
std::string HostIdentity();

// One rank's mapping. Meet and slot are for one thread; Abort may come from any.
class ShmSegment {
 public:
  // Where rank 0's segment is, as text for the store: "<pid>:<fd>:<nonce>".
  static Result<std::unique_ptr<ShmSegment>> Create(int world_size, size_t slot_bytes);
  std::string Handle() const;
  static Result<std::unique_ptr<ShmSegment>> Open(const std::string& handle, int rank, int world_size,
                                                  size_t slot_bytes);
  ~ShmSegment();
  // Once every peer has mapped it, the descriptor is not needed any more.
  void CloseDescriptor();

  // Slot `parity` (0 or 1) of a rank: slot_bytes of memory that all may read.
  char* slot(int parity, int rank) const {
    return data_ +
           (static_cast<size_t>(parity) * static_cast<size_t>(world_size_) + static_cast<size_t>(rank)) * slot_bytes_;
  }
  size_t slot_bytes() const { return slot_bytes_; }

  // Returns when every rank has called Meet as often as this one. kUnavailable when aborted or when a peer's process is
  // gone. Spins briefly, then sleeps on a futex.
  Status Meet();
  void Abort(const std::string& why);

 private:
  struct Header;
  ShmSegment(int rank, int world_size, size_t slot_bytes);
  Status Map(int fd);
  Status WaitFor(int peer, uint32_t count);
  Status CheckAlive(int peer);

  const int rank_, world_size_;
  const size_t slot_bytes_;
  int fd_ = -1, spins_;
  size_t mapped_bytes_ = 0;
  Header* header_ = nullptr;
  char* data_ = nullptr;
  uint32_t count_ = 0;            // how often this rank has met the others
  std::vector<int> peer_pidfds_;  // -1: not open yet
  std::atomic<bool> aborted_{false};
  std::mutex abort_mutex_;
  std::string why_;  // written once, before aborted_
};

}  // namespace gt::trainer
