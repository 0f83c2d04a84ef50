#include "worker/launcher/keeper_gang.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "worker/launcher/keeper.h"
#include "worker/launcher/sweep.h"

namespace gt::launcher {

namespace {
// Kills whatever still names the attempt in its environment, and what has come to us from a dead keeper; for when no keeper is
// there to ask.
class Sweeper {
 public:
  Sweeper(const Uid& uid, const std::string& socket, const std::set<pid_t>* keepers)
      : uid_(uid), socket_(socket), keepers_(keepers) {}
  // True after two looks in a row that found nothing (a process may fork while it is looked at).
  bool Sweep() {
    for (pid_t pid : killed_) waitpid(pid, nullptr, WNOHANG);  // orphans of a dead keeper come to us
    std::vector<ProcessStat> found = ProcessesOfAttempt(uid_, socket_);
    std::vector<ProcessStat> orphans = DescendantsOf(getpid(), *keepers_);
    found.insert(found.end(), orphans.begin(), orphans.end());
    for (const ProcessStat& process : found) {
      SignalExactly(process, SIGKILL);
      killed_.push_back(process.pid);
    }
    clean_ = found.empty() ? clean_ + 1 : 0;
    return clean_ >= 2;
  }

 private:
  Uid uid_;
  std::string socket_;
  const std::set<pid_t>* keepers_;
  std::vector<pid_t> killed_;
  int clean_ = 0;
};

class KeeperGang : public Gang {
 public:
  KeeperGang(Poller* poller, Spawner* spawner, const std::string& socket, std::set<pid_t>* keepers,
             const KeeperContainment::Record& record, const GangPlan* plan, GangObserver* observer)
      : poller_(poller), spawner_(spawner), keepers_(keepers), record_(record), plan_(plan), observer_(observer),
        sweeper_(plan->uid, socket, keepers) {}
  ~KeeperGang() override {
    poller_->Remove(&handle_);
    if (!reaped_) keepers_->erase(pid_);  // else the pid may be another's by now
  }

  void Start(const std::vector<RankPipes>& pipes) override {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
      return FailToStart(ErrnoStatus(errno, "socketpair").message());
    }
    socket_.Reset(pair[0]);
    Fd other(pair[1]);
    pid_ = fork();
    if (pid_ < 0) return FailToStart(ErrnoStatus(errno, "fork the keeper").message());
    if (pid_ == 0) KeeperMain(other.get(), *plan_, pipes, spawner_);
    keepers_->insert(pid_);
    living_.assign(pipes.size(), false);
    handle_ = poller_->Add(socket_.get(), EPOLLIN, [this](uint32_t) { TakeReports(); });
    auto stat = StatOf(pid_);
    record_(plan_->uid, {pid_, stat.ok() ? stat->start_ticks : 0}, [this] { Order({KeeperOrder::kGo}); });
  }

  void Signal(int signal) override { Order({KeeperOrder::kSignal, signal}); }

  void Kill() override { Order({KeeperOrder::kKill}); }

  bool Gone() override {
    if (pid_ <= 0) return true;
    if (handle_ != 0) return false;  // the keeper lives
    if (!reaped_) reaped_ = waitpid(pid_, nullptr, WNOHANG) == pid_;
    if (!reaped_) return false;
    keepers_->erase(pid_);
    return said_gone_ || sweeper_.Sweep();
  }

 private:
  void FailToStart(const std::string& why) {
    pid_ = 0;
    observer_->OnLaunchFailed(0, Status(Code::kInternal, why));
  }

  void Order(const KeeperOrder& order) {
    if (handle_ != 0) send(socket_.get(), &order, sizeof order, MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  void TakeReports() {
    KeeperReport report;
    while (true) {
      ssize_t got = recv(socket_.get(), &report, sizeof report, MSG_DONTWAIT);
      if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
      // The keeper left with an order of ours unread. The kernel says so once, before what it has reported.
      if (got < 0 && errno == ECONNRESET) continue;
      if (got != static_cast<ssize_t>(sizeof report)) return KeeperEnded();
      TakeReport(report);
    }
  }

  void TakeReport(const KeeperReport& report) {
    switch (report.kind) {
      case KeeperReport::kStarted:
        living_[report.local_rank] = true;
        return observer_->OnRankStarted(report.local_rank, report.pid);
      case KeeperReport::kAllStarted:
        answered_ = true;
        return observer_->OnAllStarted();
      case KeeperReport::kLaunchFailed:
        answered_ = true;
        return observer_->OnLaunchFailed(report.local_rank, Status(report.jobs_fault ? Code::kInvalidArgument : Code::kInternal, report.text));
      case KeeperReport::kExited:
        living_[report.local_rank] = false;
        return observer_->OnRankExited(report.local_rank, DecodeWaitStatus(report.wait_status), report.peak_resident);
      case KeeperReport::kGone:
        said_gone_ = true;
    }
  }

  void KeeperEnded() {
    poller_->Remove(&handle_);
    for (uint32_t i = 0; i < living_.size(); ++i) {  // only when the keeper was killed: how they end is unknown
      if (!living_[i]) continue;
      living_[i] = false;
      observer_->OnRankExited(i, ExitStatus{-1, 0, false}, 0);
    }
    if (!answered_ && !said_gone_) observer_->OnLaunchFailed(0, Status(Code::kInternal, "the keeper process of the attempt was killed"));
  }

  Poller* poller_;
  Spawner* spawner_;
  std::set<pid_t>* keepers_;
  const KeeperContainment::Record& record_;
  const GangPlan* plan_;
  GangObserver* observer_;
  Sweeper sweeper_;
  Fd socket_;
  Poller::Handle handle_ = 0;
  pid_t pid_ = -1;
  std::vector<bool> living_;
  bool answered_ = false, said_gone_ = false, reaped_ = false;
};

class LostKeeperGang : public Gang {
 public:
  LostKeeperGang(const Uid& uid, const std::string& socket, const std::set<pid_t>* keepers, const ProcessIdentity& keeper)
      : keeper_(keeper), sweeper_(uid, socket, keepers) {}
  void Start(const std::vector<RankPipes>&) override {}
  void Signal(int) override {}
  void Kill() override { SignalProcess(keeper_, SIGTERM).ok(); }  // it kills all below it; it does so anyway by now
  bool Gone() override { return !IsAlive(keeper_) && sweeper_.Sweep(); }

 private:
  ProcessIdentity keeper_;
  Sweeper sweeper_;
};
}  // namespace

std::unique_ptr<Gang> KeeperContainment::Make(const GangPlan* plan, GangObserver* observer) {
  return std::make_unique<KeeperGang>(poller_, spawner_, socket_, &keepers_, record_, plan, observer);
}

std::unique_ptr<Gang> KeeperContainment::Recover(const Uid& uid, const KeeperId& keeper) {
  auto boot = BootId();
  return std::make_unique<LostKeeperGang>(uid, socket_, &keepers_, ProcessIdentity{keeper.pid, keeper.start_ticks, boot.ok() ? *boot : ""});
}

}  // namespace gt::launcher
