#include "worker/trainer/contract/control.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <vector>

namespace gt::trainer {
namespace {

constexpr int kExitFailed = 1;
constexpr int kExitStopped = 128 + SIGTERM;
constexpr int kStopPatienceMs = 5000;
constexpr Millis kLeavePatience = 5 * kSecond;  // where the grace is not known; the shortest that is usual is 10 s

Millis ControlNow() {
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

sigset_t StopSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

Rendezvous FromEnvironment(const Environment& env) {
  return {.generation = Generation{std::max<uint32_t>(1, env.generation)},
          .rank = env.rank,
          .world_size = std::max(1, env.world_size),
          .store_addr = env.master_addr,
          .store_port = env.master_port};
}

}  // namespace

void BlockStopSignals() {
  sigset_t set = StopSignals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

Result<std::unique_ptr<Control>> Control::Start(const Environment& env, const std::string& store_addr, int store_port) {
  std::unique_ptr<Control> control(new Control);
  sigset_t set = StopSignals();
  control->signal_fd_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  control->wake_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (control->signal_fd_ < 0 || control->wake_fd_ < 0) return ErrnoStatus(errno, "signalfd or eventfd");
  if (env.socket.empty()) {
    control->latest_ = FromEnvironment(env);
    control->latest_generation_ = control->latest_->generation.value;
  } else {
    GT_ASSIGN_OR_RETURN(control->socket_, LineSocket::Connect(env.socket));
    control->has_launcher_ = true;
    Hello hello{.key = env.key, .pid = getpid(), .store_addr = store_addr, .store_port = store_port};
    if (env.world_size > 0) hello.rank = env.rank;
    control->socket_.Send(Encode(hello));
  }
  control->thread_ = std::thread([raw = control.get()] { raw->Loop(); });
  return control;
}

Control::~Control() {
  quit_ = true;
  uint64_t one = 1;
  if (write(wake_fd_, &one, sizeof one) < 0) std::perror("eventfd");
  if (thread_.joinable()) thread_.join();
  if (signal_fd_ >= 0) close(signal_fd_);
  if (wake_fd_ >= 0) close(wake_fd_);
}

void Control::Loop() {
  while (!quit_) {
    pollfd fds[3] = {{wake_fd_, POLLIN, 0}, {signal_fd_, POLLIN, 0}, {-1, POLLIN, 0}};
    {
      std::lock_guard lock(mutex_);
      fds[2].fd = socket_.fd();
      if (socket_.unsent_bytes() > 0) fds[2].events |= POLLOUT;
    }
    int ready = poll(fds, 3, PollTimeout());
    if (ready == 0 && stopped_) _exit(kExitStopped);
    LeaveIfDue();
    uint64_t count;
    if ((fds[0].revents & POLLIN) && read(wake_fd_, &count, sizeof count) < 0) std::perror("eventfd");
    if (fds[1].revents & POLLIN) OnSignal();
    if (fds[2].revents == 0) continue;
    std::vector<std::string> lines;
    bool alive = true;
    {
      std::lock_guard lock(mutex_);
      if (fds[2].revents & POLLOUT) alive = socket_.Flush();
      if (fds[2].revents & (POLLIN | POLLHUP | POLLERR)) alive = socket_.Receive() && alive;
      std::string line;
      while (socket_.NextLine(&line)) lines.push_back(line);
    }
    for (const std::string& line : lines) OnLine(line);
    if (!alive) OnClosed();
  }
}

int Control::PollTimeout() const {
  if (stopped_) return kStopPatienceMs;
  if (leave_by_ == kNever) return -1;
  return static_cast<int>(std::max<Millis>(0, leave_by_ - ControlNow()));
}

void Control::Preempt(Millis patience) {
  if (!preempted_ && has_launcher_) leave_by_ = ControlNow() + patience;
  preempted_ = true;
}

void Control::LeaveIfDue() {
  if (leave_by_ == kNever || ControlNow() < leave_by_) return;
  leave_by_ = kNever;
  std::lock_guard lock(mutex_);
  AbortGroup("this rank has to leave, and the others do not come along");
}

void Control::OnLine(const std::string& line) {
  std::optional<LauncherMessage> message = ParseLauncherMessage(line);
  if (!message) return;
  std::lock_guard lock(mutex_);
  switch (message->kind) {
    case LauncherMessage::Kind::kRendezvous: {
      const Rendezvous& rendezvous = message->rendezvous;
      if (latest_ && rendezvous.generation <= latest_->generation) return;  // late news
      latest_ = rendezvous;
      latest_generation_ = rendezvous.generation.value;
      if (group_ && group_generation_ < rendezvous.generation)
        AbortGroup("generation " + std::to_string(rendezvous.generation.value) + " replaces " +
                   std::to_string(group_generation_.value));
      break;
    }
    case LauncherMessage::Kind::kPreempt:
      Preempt(message->grace_s > 0 ? message->grace_s * kSecond / 2 : kLeavePatience);
      break;
    case LauncherMessage::Kind::kStop:
      stopped_ = true;
      AbortGroup("stopped by the launcher");
      break;
    case LauncherMessage::Kind::kDiagnose:
      socket_.Send(EncodeDiagnosis(group_ ? group_->InFlight() : "no group"));
      break;
  }
  changed_.notify_all();
}

void Control::OnSignal() {
  signalfd_siginfo info;
  while (read(signal_fd_, &info, sizeof info) == sizeof info) {
    if (info.ssi_signo == SIGINT && preempted_) _exit(128 + SIGINT);
    Preempt(kLeavePatience);
  }
  std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void Control::OnClosed() {
  if (!finished_ && !stopped_) {
    std::fprintf(stderr, "gt-trainer: the launcher closed the socket; leaving\n");
    _exit(kExitFailed);
  }
  std::lock_guard lock(mutex_);
  socket_.Close();
  closed_ = true;
  changed_.notify_all();
}

void Control::AbortGroup(const std::string& why) {
  if (group_) group_->Abort(why);
}

Control::Event Control::Wait(Generation current, Millis timeout, const std::function<bool()>& done,
                             bool preempt_counts) {
  std::unique_lock lock(mutex_);
  Event event = Event::kTimeout;
  changed_.wait_for(lock, std::chrono::milliseconds(timeout), [&] {
    if (stopped_) event = Event::kStop;
    else if (latest_ && latest_->generation > current) event = Event::kRendezvous;
    else if (done()) event = Event::kDone;
    else if (preempt_counts && preempted_) event = Event::kPreempt;
    else if (closed_) event = Event::kClosed;
    else return false;
    return true;
  });
  return event;
}

void Control::Notify() {
  std::lock_guard lock(mutex_);
  changed_.notify_all();
}

std::optional<Rendezvous> Control::latest() const {
  std::lock_guard lock(mutex_);
  return latest_;
}

void Control::SetGroup(Generation generation, std::shared_ptr<Abortable> group) {
  std::lock_guard lock(mutex_);
  group_generation_ = generation;
  group_ = std::move(group);
  if (stopped_) AbortGroup("stopped by the launcher");
  if (latest_ && latest_->generation > generation) AbortGroup("a newer generation came while this one formed");
}

void Control::ClearGroup() {
  std::shared_ptr<Abortable> dropped;  // its destructor must not run under the lock
  std::lock_guard lock(mutex_);
  dropped = std::move(group_);
}

void Control::Send(const std::string& line) {
  std::lock_guard lock(mutex_);
  if (!socket_.open()) return;
  socket_.Send(line);
  uint64_t one = 1;  // the control thread watches for room when something is left
  if (socket_.unsent_bytes() > 0 && write(wake_fd_, &one, sizeof one) < 0) std::perror("eventfd");
}

void Control::SendProgress(const Progress& progress) {
  {
    std::lock_guard lock(mutex_);
    if (!socket_.open() || socket_.unsent_bytes() > 0) return;
  }
  Send(Encode(progress));
}

void Control::Drain() {
  for (int waited_ms = 0; waited_ms < 1000; ++waited_ms) {
    {
      std::lock_guard lock(mutex_);
      if (!socket_.open() || socket_.unsent_bytes() == 0) return;
    }
    poll(nullptr, 0, 1);
  }
}

}  // namespace gt::trainer
