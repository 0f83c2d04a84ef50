#include "worker/launcher/cgroup_gang.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gt::launcher {

namespace {
class CgroupGang : public Gang {
 public:
  CgroupGang(Poller* poller, Spawner* spawner, CgroupTree* tree, const Uid& uid, const GangPlan* plan, GangObserver* observer)
      : poller_(poller), spawner_(spawner), tree_(tree), uid_(uid), plan_(plan), observer_(observer) {}

  ~CgroupGang() override {
    for (Rank& rank : ranks_) poller_->Remove(&rank.handle);
  }

  void Start(const std::vector<RankPipes>& pipes) override {
    Fd cgroup, memory;
    if (Status status = Prepare(&cgroup, &memory); !status.ok()) return observer_->OnLaunchFailed(0, status.message());
    ranks_.resize(pipes.size());
    for (uint32_t i = 0; i < pipes.size(); ++i) {
      auto spawned = spawner_->Spawn({.plan = plan_, .local_rank = i, .stdout_fd = pipes[i].stdout_fd,
                                      .stderr_fd = pipes[i].stderr_fd, .cgroup_fd = cgroup.get(),
                                      .memory_fd = memory.get(), .want_pidfd = true});
      if (!spawned.ok()) return observer_->OnLaunchFailed(i, spawned.status().message());
      ranks_[i].pid = spawned->pid;
      ranks_[i].pidfd = std::move(spawned->pidfd);
      ranks_[i].handle = poller_->Add(ranks_[i].pidfd.get(), EPOLLIN, [this, i](uint32_t) { Reap(i); });
      ++living_;
      observer_->OnRankStarted(i, spawned->pid);
    }
    observer_->OnAllStarted();
  }

  void Signal(int signal) override {
    // Unreaped children of ours: neither the pid nor the process group can belong to a stranger.
    for (const Rank& rank : ranks_)
      if (rank.handle != 0) kill(-rank.pid, signal);
  }

  void Kill() override { tree_->Kill(uid_); }

  bool Gone() override {
    if (gone_ || living_ > 0) return gone_;
    if (!measured_ && plan_ != nullptr && plan_->memory_limit > 0) {
      CgroupTree::Memory memory = tree_->ReadMemory(uid_);
      evidence_ = {memory.oom, memory.peak};
    }
    gone_ = tree_->Remove(uid_);
    measured_ = gone_;
    if (gone_ && (plan_ == nullptr || plan_->memory_limit > 0)) tree_->RemoveMemory(uid_);
    return gone_;
  }

  Evidence evidence() const override { return evidence_; }

 private:
  struct Rank {
    pid_t pid = 0;
    Fd pidfd;
    Poller::Handle handle = 0;  // 0: never started or reaped
  };

  Status Prepare(Fd* cgroup, Fd* memory) {
    GT_ASSIGN_OR_RETURN(*cgroup, tree_->Make(uid_));
    // Without a memory controller the limit is not enforced: kind() says so to the worker, which decides.
    if (plan_->memory_limit == 0 || !tree_->limits_memory()) return OkStatus();
    GT_ASSIGN_OR_RETURN(*memory, tree_->LimitMemory(uid_, plan_->memory_limit));
    return OkStatus();
  }

  void Reap(uint32_t i) {
    Rank& rank = ranks_[i];
    int status = 0;
    rusage usage{};
    if (wait4(rank.pid, &status, WNOHANG, &usage) != rank.pid) return;
    poller_->Remove(&rank.handle);
    rank.pidfd.Reset();
    --living_;
    observer_->OnRankExited(i, DecodeWaitStatus(status), static_cast<int64_t>(usage.ru_maxrss) * 1024);
  }

  Poller* poller_;
  Spawner* spawner_;
  CgroupTree* tree_;
  Uid uid_;
  const GangPlan* plan_;
  GangObserver* observer_;
  std::vector<Rank> ranks_;
  int living_ = 0;
  bool gone_ = false, measured_ = false;
  Evidence evidence_;
};
}  // namespace

std::unique_ptr<Gang> CgroupContainment::Make(const GangPlan* plan, GangObserver* observer) {
  return std::make_unique<CgroupGang>(poller_, spawner_, tree_.get(), plan->uid, plan, observer);
}

std::unique_ptr<Gang> CgroupContainment::Recover(const Uid& uid, const KeeperId&) {
  return std::make_unique<CgroupGang>(poller_, spawner_, tree_.get(), uid, nullptr, nullptr);
}

}  // namespace gt::launcher
