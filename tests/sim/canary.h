// Bugs to plant between the parts, without a trace of them in the parts: the simulator has to find each.
#pragma once
#include <map>
#include <vector>

#include "coordinator/loop_body.h"

namespace gt::sim {

enum class Canary : uint8_t {
  kNone,
  kNoFence,  // a report of an old attempt is taken for one of the task's present attempt
  kReplyBeforeCommit,
  kFreeEarly,   // a member that is stopping counts as gone
  kSecondNode,  // an order to run goes to another node too
  kLosesRows,   // a batch that only touches attempts is not written
};
constexpr int kCanaries = static_cast<int>(Canary::kLosesRows) + 1;
const char* Name(Canary canary);

class Planted {
 public:
  explicit Planted(Canary canary) : canary_(canary) {}

  // What a worker says, before the loop hears it.
  void OnItem(LoopItem* item, const ClusterState& state) const;
  // Items of a turn: takes the answers of those that are not to wait for the commit.
  void OnTurn(std::vector<LoopItem>* items);
  // Right before the commit; true: it is left out.
  bool OnCommit(const Batch& batch);
  // Orders for one session; `another` session belongs to another node (0: none).
  void OnOrders(Orders* orders, uint64_t another);

 private:
  struct Early {
    std::function<void(const Status&, std::span<const Reply>)> done;
    size_t first = 0, count = 0;
  };
  void Rewrite(NodeReport* report, const ClusterState& state) const;

  const Canary canary_;
  std::map<Uid, TaskId> tasks_;
  std::vector<Early> early_;
  std::vector<std::pair<uint64_t, AttemptOrder>> doubled_;  // for this session
};

}  // namespace gt::sim
