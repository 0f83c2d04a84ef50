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
  CgroupGang(Poller* poller, Spawner* spawner, CgroupTree* tree, const GangPlan* plan, GangObserver* observer)
      : poller_(poller), spawner_(spawner), tree_(tree), plan_(plan), observer_(observer) {}

  ~CgroupGang() override {
    for (Rank& rank : ranks_) poller_->Remove(&rank.handle);
  }

  void Start(const std::vector<RankPipes>& pipes) override {
    Fd memory;
    if (Status status = Prepare(&memory); !status.ok()) return observer_->OnLaunchFailed(0, status);
    ranks_.resize(pipes.size());
    for (uint32_t i = 0; i < pipes.size(); ++i) {
      auto spawned = spawner_->Spawn({.plan = plan_, .local_rank = i, .stdout_fd = pipes[i].stdout_fd,
                                      .stderr_fd = pipes[i].stderr_fd, .cgroup_fd = slot_->dir.get(),
                                      .memory_fd = memory.get(), .want_pidfd = true});
      if (!spawned.ok()) return observer_->OnLaunchFailed(i, spawned.status());
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

  void Kill() override {
    if (slot_ != nullptr) tree_->Kill(slot_.get());
  }

  bool Gone() override {
    if (living_ > 0 || (slot_ != nullptr && !tree_->Empty(*slot_))) return false;
    if (slot_ == nullptr) return true;
    if (limited_) {
      CgroupTree::Memory memory = tree_->ReadMemory(*slot_);
      evidence_ = {memory.oom, memory.peak};
    }
    tree_->Return(std::move(slot_));
    return true;
  }

  Evidence evidence() const override { return evidence_; }

 private:
  struct Rank {
    pid_t pid = 0;
    Fd pidfd;
    Poller::Handle handle = 0;  // 0: never started or reaped
  };

  Status Prepare(Fd* memory) {
    GT_ASSIGN_OR_RETURN(slot_, tree_->Take());
    // Without a memory controller the limit is not enforced: kind() says so to the worker, which decides.
    if (plan_->memory_limit == 0 || !tree_->limits_memory()) return OkStatus();
    limited_ = true;
    GT_ASSIGN_OR_RETURN(*memory, tree_->LimitMemory(slot_.get(), plan_->memory_limit));
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
  std::unique_ptr<CgroupTree::Slot> slot_;
  const GangPlan* plan_;
  GangObserver* observer_;
  std::vector<Rank> ranks_;
  int living_ = 0;
  bool limited_ = false;
  Evidence evidence_;
};

// All that an earlier launcher left goes at once: none of its attempts is to live on.
class LeftoverGang : public Gang {
 public:
  explicit LeftoverGang(CgroupTree* tree) : tree_(tree) {}
  void Start(const std::vector<RankPipes>&) override {}
  void Signal(int) override {}
  void Kill() override { tree_->KillLeftovers(); }
  bool Gone() override { return tree_->RemoveLeftovers(); }

 private:
  CgroupTree* tree_;
};
}  // namespace

std::unique_ptr<Gang> CgroupContainment::Make(const GangPlan* plan, GangObserver* observer) {
  return std::make_unique<CgroupGang>(poller_, spawner_, tree_.get(), plan, observer);
}

std::unique_ptr<Gang> CgroupContainment::Recover(const Uid&, const KeeperId&) {
  return std::make_unique<LeftoverGang>(tree_.get());
}

}  // namespace gt::launcher
