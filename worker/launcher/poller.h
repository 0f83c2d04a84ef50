// The loop thread: one epoll set, deadlines, and work that other threads post. Nothing here touches a disk.
// All members are for the loop thread, except Post.
#pragma once
#include <sys/epoll.h>

#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "common/base/status.h"
#include "common/base/time.h"
#include "common/os/fd.h"

namespace gt::launcher {

class Poller {
 public:
  using Handle = uint64_t;  // 0 names nothing
  using Timer = uint64_t;   // 0 names nothing

  Status Open();
  // Level-triggered. The callback may remove any handle, its own too. The fd stays the caller's, who removes the handle
  // before closing it.
  Handle Add(int fd, uint32_t events, std::function<void(uint32_t)> callback);
  void Modify(Handle handle, uint32_t events);
  void Remove(Handle* handle);  // sets it to 0; 0 is fine

  Timer At(Millis mono, std::function<void()> callback);
  Timer After(Millis delay, std::function<void()> callback) { return At(now_.mono + delay, std::move(callback)); }
  void Cancel(Timer* timer);  // sets it to 0; 0 is fine

  // From any thread: run this on the loop thread, in order.
  void Post(std::function<void()> work);
  // Runs after every turn: where what was gathered in it is sent.
  void AfterTurn(std::function<void()> hook) { hooks_.push_back(std::move(hook)); }

  // The reading of the clocks for this turn.
  const Now& now() const { return now_; }
  void Run();  // until Stop
  void Stop() { running_ = false; }

 private:
  struct Slot {
    int fd = -1;
    uint32_t round = 0;  // tells a stale event of a former owner of this slot
    std::function<void(uint32_t)> callback;
  };
  int Timeout() const;
  void RunTimers();
  void RunPosted();
  void Deliver(const epoll_event& event);

  Fd epoll_, wake_;
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_;
  std::map<std::pair<Millis, Timer>, std::function<void()>> timers_;
  std::map<Timer, Millis> timer_at_;
  Timer next_timer_ = 1;
  std::vector<std::function<void()>> hooks_;
  Now now_;
  bool running_ = false;

  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;  // guarded by mutex_
};

}  // namespace gt::launcher
