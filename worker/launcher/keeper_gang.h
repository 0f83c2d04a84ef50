// A gang below a keeper process (keeper.h): for nodes where the launcher can write no cgroup.
#pragma once
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "worker/launcher/gang.h"
#include "worker/launcher/poller.h"

namespace gt::launcher {

class KeeperContainment : public Containment {
 public:
  // `record` puts the keeper into the journal and then calls `done` on the loop thread (or never, when it is ending).
  using Record = std::function<void(const Uid& uid, const KeeperId& keeper, std::function<void()> done)>;
  // `socket`: GT_SOCKET of all ranks of this launcher and of those before it; empty when it was another one then.
  KeeperContainment(Poller* poller, Spawner* spawner, std::string socket, Record record)
      : poller_(poller), spawner_(spawner), socket_(std::move(socket)), record_(std::move(record)) {}
  std::string kind() const override { return "keeper"; }
  std::unique_ptr<Gang> Make(const GangPlan* plan, GangObserver* observer) override;
  std::unique_ptr<Gang> Recover(const Uid& uid, const KeeperId& keeper) override;

 private:
  Poller* poller_;
  Spawner* spawner_;
  std::string socket_;
  std::set<pid_t> keepers_;  // that live
  Record record_;
};

}  // namespace gt::launcher
