#include "tests/sim/simulation.h"

namespace gt::sim {
namespace {

class Simulation {
 public:
  Simulation(const Plan& plan, const Options& options)
      : plan_(plan),
        options_(options),
        oracle_(&timeline_, &plan_, &policy_, options.verbose),
        network_(&timeline_, plan.nodes.size(), {.longest_delay = plan.longest_delay, .prompt = plan.gentle},
                 plan.seed ^ 0x1111),
        coordinator_({.timeline = &timeline_,
                      .network = &network_,
                      .oracle = &oracle_,
                      .policy = policy_,
                      .canary = options.canary,
                      .check_every = options.check_every},
                     plan.seed ^ 0x2222),
        clients_({.timeline = &timeline_,
                  .network = &network_,
                  .oracle = &oracle_,
                  .coordinator = &coordinator_,
                  .plan = &plan_},
                 plan.seed ^ 0x3333) {
    for (size_t i = 0; i < plan_.nodes.size(); ++i)
      nodes_.push_back(
          std::make_unique<Node>(Node::Parts{&timeline_, &network_, &oracle_, &meetings_, &plan_}, i, plan.seed * 31 + i));
    oracle_.SetNodes(&nodes_);
    network_.SetEnds(
        {.accept = [this](StreamId id, size_t node) { return coordinator_.Accept(id, node); },
         .report = [this](StreamId id, const std::string& bytes) { coordinator_.OnReport(id, bytes); },
         .gone = [this](StreamId id) { coordinator_.OnGone(id); },
         .connected = [this](StreamId id, size_t node, bool ok) { nodes_[node]->OnConnected(id, ok); },
         .orders = [this](StreamId id, size_t node, const std::string& bytes) { nodes_[node]->OnOrders(id, bytes); },
         .lost = [this](StreamId id, size_t node) { nodes_[node]->OnLost(id); }});
  }

  Outcome Run() {
    coordinator_.Start();
    for (std::unique_ptr<Node>& node : nodes_) node->StartWorker();
    clients_.Start();
    for (const Fault& fault : plan_.faults)
      timeline_.At(fault.at, [this, &fault] {
        oracle_.Trace([&] {
          return std::string("fault ") + Name(fault.kind) + " n" + std::to_string(fault.node) + " for " +
                 std::to_string(fault.lasts) + " by " + std::to_string(fault.amount);
        });
        Strike(fault);
      });
    while (!oracle_.failed() && timeline_.Step(plan_.quiet_at)) {
    }
    network_.Calm();
    coordinator_.Calm();
    Settle();
    if (!oracle_.failed()) oracle_.CheckFinals(&coordinator_.disk);
    return {.failure = oracle_.failure(),
            .simulated = timeline_.now(),
            .jobs = oracle_.jobs(),
            .attempts = oracle_.attempts(),
            .turns = coordinator_.turns(),
            .starts = coordinator_.starts()};
  }

 private:
  void Strike(const Fault& fault) {
    Node& node = *nodes_[fault.node];
    switch (fault.kind) {
      case FaultKind::kStreamBreak:
        return network_.Break(fault.node);
      case FaultKind::kPartition:
        network_.Block(fault.node, kUp, fault.lasts);
        return network_.Block(fault.node, kDown, fault.lasts);
      case FaultKind::kDeafCoordinator:
        return network_.Block(fault.node, kUp, fault.lasts);
      case FaultKind::kDeafNode:
        return network_.Block(fault.node, kDown, fault.lasts);
      case FaultKind::kSlowNetwork:
        return network_.Slow(fault.node, fault.amount, fault.lasts);
      case FaultKind::kCoordinatorCrash:
        return coordinator_.Crash(fault.lasts);
      case FaultKind::kCrashInCommit:
        return coordinator_.CrashAtCommit(fault.amount, fault.lasts);
      case FaultKind::kCrashAfterCommit:
        return coordinator_.CrashAtCommit(-1, fault.lasts);
      case FaultKind::kLoopStall:
        return coordinator_.Stall(fault.lasts);
      case FaultKind::kDiskFull:
        coordinator_.SetDiskFull(true);
        return timeline_.After(fault.lasts, [this] { coordinator_.SetDiskFull(false); });
      case FaultKind::kCoordinatorClock:
        return coordinator_.JumpWall(fault.amount);
      case FaultKind::kNodeClock:
        return node.JumpWall(fault.amount);
      case FaultKind::kWorkerCrash:
        return node.CrashWorker(fault.lasts);
      case FaultKind::kWorkerStall:
        return node.StallWorker(fault.lasts);
      case FaultKind::kLauncherCrash:
        return node.launcher.Crash(fault.lasts);
      case FaultKind::kGpusGone:
        return node.LoseGpus(fault.lasts);
      case FaultKind::kReboot:
        return node.Reboot(fault.lasts + kSecond, false);
      case FaultKind::kWipe:
        return node.Reboot(fault.lasts + kSecond, true);
    }
  }

  // No more faults: everything must come to its end.
  void Settle() {
    std::string left = "the simulation has not looked yet";
    for (Millis until = timeline_.now() + options_.patience;
         !oracle_.failed() && timeline_.now() < until && !left.empty();) {
      Millis next = timeline_.now() + 10 * kSecond;
      while (!oracle_.failed() && timeline_.Step(next)) {
      }
      left = Left();
    }
    if (!left.empty() && !oracle_.failed()) oracle_.Fail("long after the last fault: " + left);
  }

  std::string Left() const {
    if (!coordinator_.up()) return "the coordinator is down";
    if (!clients_.done()) return "a client waits for its answer";
    return oracle_.Unfinished(*coordinator_.state());
  }

  const Plan& plan_;
  const Options& options_;
  const Policy policy_{.exit_skew = kMinute};  // an array of gangs that hang is to end today
  Timeline timeline_;
  Oracle oracle_;
  Meetings meetings_{&timeline_, &oracle_};
  Network network_;
  std::vector<std::unique_ptr<Node>> nodes_;
  Coordinator coordinator_;
  Clients clients_;
};

}  // namespace

Outcome Simulate(const Plan& plan, const Options& options) {
  return std::make_unique<Simulation>(plan, options)->Run();
}

}  // namespace gt::sim
