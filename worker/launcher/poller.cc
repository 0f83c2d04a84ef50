#include "worker/launcher/poller.h"

#include <errno.h>
#include <sys/eventfd.h>

#include <algorithm>

#include "common/os/clock.h"

namespace gt::launcher {

namespace {
constexpr int kMaxEvents = 256;
Poller::Handle MakeHandle(uint32_t slot, uint32_t round) { return (static_cast<uint64_t>(round) << 32) | (slot + 1); }
uint32_t SlotOf(Poller::Handle handle) { return static_cast<uint32_t>(handle) - 1; }
uint32_t RoundOf(Poller::Handle handle) { return static_cast<uint32_t>(handle >> 32); }
}  // namespace

Status Poller::Open() {
  now_ = ReadClock();
  epoll_.Reset(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.valid()) return ErrnoStatus(errno, "epoll_create1");
  wake_.Reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_.valid()) return ErrnoStatus(errno, "eventfd");
  Add(wake_.get(), EPOLLIN, [this](uint32_t) { RunPosted(); });
  return OkStatus();
}

Poller::Handle Poller::Add(int fd, uint32_t events, std::function<void(uint32_t)> callback) {
  if (free_.empty()) {
    free_.push_back(static_cast<uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  uint32_t slot = free_.back();
  free_.pop_back();
  Slot& entry = slots_[slot];
  entry.fd = fd;
  entry.callback = std::move(callback);
  epoll_event event{.events = events, .data = {.u64 = MakeHandle(slot, entry.round)}};
  GT_ASSERT(epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0);
  return event.data.u64;
}

void Poller::Modify(Handle handle, uint32_t events) {
  epoll_event event{.events = events, .data = {.u64 = handle}};
  GT_ASSERT(epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, slots_[SlotOf(handle)].fd, &event) == 0);
}

void Poller::Remove(Handle* handle) {
  if (*handle == 0) return;
  uint32_t slot = SlotOf(*handle);
  Slot& entry = slots_[slot];
  GT_ASSERT(entry.round == RoundOf(*handle));
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, entry.fd, nullptr);
  entry.fd = -1;
  entry.callback = nullptr;
  ++entry.round;
  free_.push_back(slot);
  *handle = 0;
}

Poller::Timer Poller::At(Millis mono, std::function<void()> callback) {
  Timer timer = next_timer_++;
  timers_[{mono, timer}] = std::move(callback);
  timer_at_[timer] = mono;
  return timer;
}

void Poller::Cancel(Timer* timer) {
  auto found = timer_at_.find(*timer);
  if (found != timer_at_.end()) {
    timers_.erase({found->second, found->first});
    timer_at_.erase(found);
  }
  *timer = 0;
}

void Poller::Post(std::function<void()> work) {
  bool first;
  {
    std::lock_guard lock(mutex_);
    first = posted_.empty();
    posted_.push_back(std::move(work));
  }
  if (first) eventfd_write(wake_.get(), 1);
}

void Poller::RunPosted() {
  eventfd_t ignored;
  eventfd_read(wake_.get(), &ignored);
  std::vector<std::function<void()>> work;
  {
    std::lock_guard lock(mutex_);
    work.swap(posted_);
  }
  for (auto& one : work) one();
}

int Poller::Timeout() const {
  if (timers_.empty()) return -1;
  return static_cast<int>(std::clamp<Millis>(timers_.begin()->first.first - ReadClock().mono, 0, 60'000));
}

void Poller::RunTimers() {
  while (!timers_.empty() && timers_.begin()->first.first <= now_.mono) {
    auto node = timers_.extract(timers_.begin());
    timer_at_.erase(node.key().second);
    node.mapped()();
  }
}

void Poller::Deliver(const epoll_event& event) {
  Slot& entry = slots_[SlotOf(event.data.u64)];
  if (entry.fd < 0 || entry.round != RoundOf(event.data.u64)) return;
  auto callback = entry.callback;  // a copy: it may remove itself, or grow slots_
  callback(event.events);
}

void Poller::Run() {
  epoll_event events[kMaxEvents];
  running_ = true;
  while (running_) {
    int count = epoll_wait(epoll_.get(), events, kMaxEvents, Timeout());
    now_ = ReadClock();
    RunTimers();  // first what has expired
    for (int i = 0; i < count; ++i) Deliver(events[i]);
    for (auto& hook : hooks_) hook();
  }
}

}  // namespace gt::launcher
