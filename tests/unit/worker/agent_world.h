// A node in a line or two: an agent, a clock that stands still unless told, and everything that the agent asked for.
#pragma once
#include <gtest/gtest.h>

#include <functional>

#include "worker/core/agent.h"

namespace gt::worker {

inline Uid U(uint64_t n) { return Uid{7, n}; }

inline JobLaunch Job(uint64_t id) {
  JobLaunch job;
  job.job_id = JobId{id};
  job.argv = {"/bin/true"};
  job.fail_grace_ms = 300;
  return job;
}
inline AttemptOrder Wants(uint64_t n, uint64_t job = 1) {
  AttemptOrder order;
  order.uid = U(n);
  order.job_id = JobId{job};
  order.generation = Generation{1};
  return order;
}
inline AttemptOrder Halt(uint64_t n, Cause why = Cause::kCancelled, Millis grace = 1000) {
  AttemptOrder order = Wants(n);
  order.want = AttemptOrder::Want::kStop;
  order.why = why;
  order.grace_ms = grace;
  return order;
}
inline LauncherState Is(uint64_t n, AttemptPhase phase) {
  return LauncherState{.uid = U(n), .generation = Generation{1}, .phase = phase};
}
inline LauncherState Exited(uint64_t n, int code = 0) {
  LauncherState state = Is(n, AttemptPhase::kEnded);
  state.exit = ExitRecord{.why = code ? ExitWhy::kRankFailed : ExitWhy::kFinished};
  state.exit->ranks.push_back(RankExit{.code = code});
  return state;
}

class World {
 public:
  explicit World(std::function<void(Agent::Options*)> change = nullptr) {
    Agent::Options options;
    options.facts = {"127.0.0.1", "lo", "/opt/gt-trainer", "/ckpt", {{"PATH", "/usr/bin"}}};
    if (change) change(&options);
    agent = std::make_unique<Agent>(std::move(options));
  }

  World& Step(std::vector<Input> inputs = {}) {
    done = agent->Step(std::move(inputs), now);
    for (const Action& action : done) {
      if (auto* send = std::get_if<SendReport>(&action)) report = send->report;
    }
    return *this;
  }
  World& After(Millis time) {
    now.mono += time;
    now.wall += time;
    return Step();
  }
  World& Connected() { return Step().Step({worker::Connected{}}); }
  World& Launcher(std::vector<LauncherState> held = {}) { return Step({LauncherSnapshot{std::move(held), "keeper"}}); }
  // Connected, welcomed, both complete lists exchanged, nothing under way.
  World& Joined(std::vector<AttemptOrder> wanted = {}) {
    if (!agent->launcher_known()) Launcher();
    Connected();
    NodeOrders first;
    first.welcome = Welcome{.epoch = Epoch{epoch}};
    first.jobs = {Job(1)};
    first.attempts = std::move(wanted);
    first.snapshot_begin = first.snapshot_end = true;
    order_seq = 0;
    return Orders(std::move(first)).Ack();
  }
  World& Orders(NodeOrders orders) {
    orders.seq = ++order_seq;
    orders.ack = 0;
    return Step({OrdersReceived{std::move(orders)}});
  }
  World& Order(std::vector<AttemptOrder> attempts) { return Orders(NodeOrders{.attempts = std::move(attempts)}); }
  // The coordinator has the last report with a seq on disk.
  World& Ack() {
    report = {};
    return Step({OrdersReceived{NodeOrders{.ack = LastSeq()}}});
  }
  uint64_t LastSeq() {
    for (uint64_t seq = 1;; ++seq) {
      Session probe = agent->session();
      if (probe.OnAck(seq) == Session::Ack::kInvalid) return seq - 1;
    }
  }

  template <typename T>
  std::vector<T> All() const {
    std::vector<T> found;
    for (const Action& action : done)
      if (auto* match = std::get_if<T>(&action)) found.push_back(*match);
    return found;
  }
  template <typename T>
  T One() const {
    std::vector<T> all = All<T>();
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? T{} : all[0];
  }
  template <typename T>
  size_t Count() const { return All<T>().size(); }
  const AttemptReport* Reported(uint64_t n) const {
    for (const AttemptReport& entry : report.attempts)
      if (entry.uid == U(n)) return &entry;
    return nullptr;
  }

  std::unique_ptr<Agent> agent;
  Now now{1000000, 5000000};
  std::vector<Action> done;   // by the last step
  NodeReport report;          // the last one sent
  uint64_t order_seq = 0;
  uint64_t epoch = 3;
};

}  // namespace gt::worker
