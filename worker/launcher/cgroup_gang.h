// A gang in a cgroup of its own: children of the launcher, started straight into it.
#pragma once
#include <memory>

#include "worker/launcher/cgroup.h"
#include "worker/launcher/gang.h"
#include "worker/launcher/poller.h"

namespace gt::launcher {

class CgroupContainment : public Containment {
 public:
  CgroupContainment(Poller* poller, Spawner* spawner, std::unique_ptr<CgroupTree> tree)
      : poller_(poller), spawner_(spawner), tree_(std::move(tree)) {}
  std::string kind() const override { return tree_->limits_memory() ? "cgroup+memory" : "cgroup"; }
  std::unique_ptr<Gang> Make(const GangPlan* plan, GangObserver* observer) override;
  std::unique_ptr<Gang> Recover(const Uid& uid, const KeeperId& keeper) override;

 private:
  Poller* poller_;
  Spawner* spawner_;
  std::unique_ptr<CgroupTree> tree_;
};

}  // namespace gt::launcher
