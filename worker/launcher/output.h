// What ranks print, from their pipes to the disk thread. Loop thread only.
#pragma once
#include <array>
#include <functional>
#include <string>
#include <vector>

#include "worker/launcher/disk.h"
#include "worker/launcher/gang.h"
#include "worker/launcher/poller.h"

namespace gt::launcher {

// Holds readers back while too much waits for the disk thread; gives up on a disk that has not moved for 2 s, and then output
// is discarded: a rank is slowed for moments, and never blocked.
class OutputGate {
 public:
  OutputGate(Poller* poller, Disk* disk) : poller_(poller), disk_(disk) {}
  enum class Verdict { kRead, kPause, kDiscard };
  Verdict Ask();
  // `resume` is called once when reading may go on.
  void Pause(const void* who, std::function<void()> resume);
  void Forget(const void* who);
  Disk* disk() const { return disk_; }
  Poller* poller() const { return poller_; }
  std::array<char, 256 << 10>& buffer() { return buffer_; }

 private:
  void Check();
  Poller* poller_;
  Disk* disk_;
  std::map<const void*, std::function<void()>> paused_;
  Poller::Timer timer_ = 0;
  uint64_t seen_batches_ = 0;
  Millis moved_ = 0;  // when the disk thread last finished a batch, as far as seen
  std::array<char, 256 << 10> buffer_;
};

// One stream of one rank. One that prints much gets a wide pipe and is read at intervals: a wake-up for each line of it would
// cost more than the line.
class RankStream {
 public:
  RankStream(OutputGate* gate, const Uid& uid, uint32_t rank, Stream stream)
      : gate_(gate), uid_(uid), rank_(rank), stream_(stream) {}
  ~RankStream() { Close(); }
  RankStream(const RankStream&) = delete;

  Status Open();
  int write_fd() const { return write_.get(); }
  void CloseWriteEnd() { write_.Reset(); }
  // Nothing of the attempt lives any more: takes what is left in the pipe and closes it.
  void Drain();
  const std::string& tail() const { return tail_; }  // the last 4 KiB
  int64_t discarded() const { return discarded_; }

 private:
  bool ReadOnce(bool discard);  // false: nothing more to read now
  void Watch();
  void OnReadable();
  void Widen();
  void Rest();
  void Close();
  void Keep(std::string_view bytes);

  OutputGate* gate_;
  Uid uid_;
  uint32_t rank_;
  Stream stream_;
  Fd read_, write_;
  Poller::Handle handle_ = 0;
  Poller::Timer rest_timer_ = 0;
  bool wide_ = false, asked_ = false;  // the pipe
  std::string tail_;
  int64_t read_bytes_ = 0, discarded_ = 0, unnoticed_ = 0;
};

}  // namespace gt::launcher
