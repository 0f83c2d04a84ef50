#include "worker/launcher/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "worker/launcher/sweep.h"

namespace gt::launcher {

namespace {
constexpr int kKillPauseMs = 5;

class Keeper {
 public:
  Keeper(int socket, const GangPlan& plan, const std::vector<RankPipes>& pipes, Spawner* spawner)
      : socket_(socket), plan_(plan), pipes_(pipes), spawner_(spawner), pids_(pipes.size(), 0) {}

  [[noreturn]] void Run() {
    Prepare();
    while (true) {
      pollfd polled[2] = {{socket_, static_cast<short>(socket_ >= 0 ? POLLIN : 0), 0}, {signals_, POLLIN, 0}};
      if (poll(polled, 2, killing_ ? kKillPauseMs : -1) < 0 && errno != EINTR) _exit(1);
      if (polled[0].revents != 0) TakeOrder();
      if (polled[1].revents != 0) TakeSignals();
      if (started_) ReapAll();
      if (killing_) KillDescendants(getpid());
    }
  }

 private:
  void Prepare() {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_NAME, "gt-keeper");
    setsid();
    CloseAllBut();
    int oom = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (oom >= 0) {
      if (write(oom, "-1000", 5) == 5) spawner_->ResetOomScore();
      close(oom);
    }
    sigset_t wanted;
    sigemptyset(&wanted);
    for (int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) sigaddset(&wanted, signal);
    sigprocmask(SIG_BLOCK, &wanted, nullptr);
    signals_ = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
  }

  // We were forked from a program with many descriptors: none of them may stay open here.
  void CloseAllBut() {
    std::vector<unsigned> keep = {static_cast<unsigned>(socket_), static_cast<unsigned>(spawner_->dev_null())};
    for (unsigned fd = 0; fd < kFirstSpawnFd + kSpawnFds; ++fd) keep.push_back(fd);
    for (const RankPipes& pipe : pipes_) {
      keep.push_back(static_cast<unsigned>(pipe.stdout_fd));
      keep.push_back(static_cast<unsigned>(pipe.stderr_fd));
    }
    std::sort(keep.begin(), keep.end());
    unsigned from = 3;
    for (unsigned fd : keep) {
      if (fd > from) syscall(SYS_close_range, from, fd - 1, 0);
      from = std::max(from, fd + 1);
    }
    syscall(SYS_close_range, from, ~0u, 0);
  }

  void TakeOrder() {
    KeeperOrder order{};
    ssize_t got = recv(socket_, &order, sizeof order, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got != static_cast<ssize_t>(sizeof order)) {  // the launcher is gone
      if (!started_) _exit(0);
      close(socket_);
      socket_ = -1;
      killing_ = true;
      return;
    }
    if (order.kind == KeeperOrder::kGo && !started_) StartRanks();
    if (order.kind == KeeperOrder::kKill) killing_ = started_ = true;
    if (order.kind == KeeperOrder::kSignal) {
      for (pid_t pid : pids_)
        if (pid > 0) kill(-pid, order.signal);
    }
  }

  void TakeSignals() {
    signalfd_siginfo info;
    while (read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      if (info.ssi_signo != SIGCHLD) killing_ = started_ = true;
    }
  }

  void StartRanks() {
    started_ = true;
    for (uint32_t i = 0; i < pids_.size(); ++i) {
      auto spawned = spawner_->Spawn({.plan = &plan_, .local_rank = i, .stdout_fd = pipes_[i].stdout_fd,
                                      .stderr_fd = pipes_[i].stderr_fd});
      if (!spawned.ok()) {
        KeeperReport report{.kind = KeeperReport::kLaunchFailed, .local_rank = i};
        report.jobs_fault = spawned.status().code() == Code::kInvalidArgument;
        strncpy(report.text, spawned.status().message().c_str(), sizeof report.text - 1);
        Report(report);
        killing_ = true;
        break;
      }
      pids_[i] = spawned->pid;
      Report({.kind = KeeperReport::kStarted, .local_rank = i, .pid = spawned->pid});
    }
    for (const RankPipes& pipe : pipes_) close(pipe.stdout_fd), close(pipe.stderr_fd);
    if (!killing_) Report({KeeperReport::kAllStarted});
  }

  void ReapAll() {
    int status = 0;
    rusage usage{};
    while (true) {
      pid_t pid = wait4(-1, &status, WNOHANG, &usage);
      if (pid == 0 || (pid < 0 && errno == EINTR)) return;
      if (pid < 0) {  // ECHILD: orphans come to us, so nothing of the attempt is left
        Report({KeeperReport::kGone});
        _exit(0);
      }
      auto rank = std::find(pids_.begin(), pids_.end(), pid);
      if (rank == pids_.end()) continue;
      *rank = 0;
      Report({KeeperReport::kExited, static_cast<uint32_t>(rank - pids_.begin()), pid, status,
              static_cast<int64_t>(usage.ru_maxrss) * 1024});
    }
  }

  void Report(const KeeperReport& report) {
    if (socket_ >= 0) send(socket_, &report, sizeof report, MSG_NOSIGNAL);
  }

  int socket_;
  const GangPlan& plan_;
  const std::vector<RankPipes>& pipes_;
  Spawner* spawner_;
  std::vector<pid_t> pids_;  // 0: not started or reaped
  int signals_ = -1;
  bool started_ = false, killing_ = false;
};
}  // namespace

void KeeperMain(int socket, const GangPlan& plan, const std::vector<RankPipes>& pipes, Spawner* spawner) {
  Keeper(socket, plan, pipes, spawner).Run();
}

}  // namespace gt::launcher
