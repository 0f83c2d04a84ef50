#include "tests/sim/clients.h"

#include "coordinator/service/convert.h"

namespace gt::sim {
namespace {

constexpr Millis kTimeout = 10 * kSecond;

wire::SubmitRequest::One Request(const JobPlan& job, size_t index) {
  wire::SubmitRequest::One one;
  one.set_client_key("sim-client-key-" + std::to_string(100000 + index));
  wire::JobSpec* spec = one.mutable_spec();
  spec->mutable_run()->add_command("rank");
  spec->mutable_run()->add_command(std::to_string(index));
  spec->mutable_resources()->mutable_nodes()->set_count(job.nodes);
  spec->mutable_resources()->set_gpus_per_node(job.gpus);
  spec->mutable_resources()->set_processes_per_node(1);
  spec->mutable_resources()->set_cpus_per_process(job.cpus);
  spec->set_priority(job.priority);
  spec->mutable_retry()->set_user(job.user_retries);
  spec->set_grace(job.grace);
  if (job.tasks > 1) spec->set_array("0-" + std::to_string(job.tasks - 1));
  if (job.time_limit > 0) spec->set_time_limit(job.time_limit);
  if (job.stop_after > 0) {
    spec->mutable_on_disconnect()->set_action(wire::STOP_AFTER);
    spec->mutable_on_disconnect()->set_stop_after(job.stop_after);
  }
  return one;
}

}  // namespace

void Clients::Start() {
  for (size_t i = 0; i < parts_.plan->jobs.size(); ++i) {
    ++open_;
    parts_.timeline->At(parts_.plan->jobs[i].at, [this, i] { Submit(i); });
  }
  for (const DrainPlan& drain : parts_.plan->drains) {
    ++open_;
    parts_.timeline->At(drain.at, [this, drain] {
      Drain(drain.node, true, [this, drain] {
        parts_.timeline->After(drain.lasts, [this, drain] { Drain(drain.node, false, [this] { --open_; }); });
      });
    });
  }
}

void Clients::Again(std::function<Command()> make, Done done) {
  parts_.timeline->After(kSecond + static_cast<Millis>(rng_.Below(2000)),
                         [this, make = std::move(make), done = std::move(done)] { Ask(make, done); });
}

// Lost on the way, nobody there, refused, not answered, the answer lost: all the same to a client, which asks again.
void Clients::Ask(std::function<Command()> make, Done done) {
  auto settled = std::make_shared<bool>(false);
  auto again = [this, settled, make, done] {
    if (!std::exchange(*settled, true)) Again(make, done);
  };
  parts_.timeline->After(kTimeout, again);
  std::optional<Millis> there = parts_.network->ClientDelay();
  if (!there) return;
  parts_.timeline->After(*there, [this, settled, make, done, again] {
    LoopItem item;
    item.commands.push_back(make());
    item.done = [this, settled, done, again](const Status& status, std::span<const Reply> replies) {
      std::optional<Millis> back = parts_.network->ClientDelay();
      if (!back) return;
      std::optional<Reply> reply;
      if (status.ok()) reply = replies[0];
      parts_.timeline->After(*back, [settled, done, again, reply] {
        if (*settled) return;
        if (!reply || !done(*reply)) return again();
        *settled = true;
      });
    };
    if (Status pushed = parts_.coordinator->Push(std::move(item)); !pushed.ok()) again();
  });
}

void Clients::Submit(size_t index) {
  const JobPlan& plan = parts_.plan->jobs[index];
  wire::SubmitRequest::One one = Request(plan, index);
  std::vector<std::string> problems = CheckSubmit(one);
  if (!problems.empty()) return parts_.oracle->Fail("a job of the plan is refused: " + problems.front());
  Job job = ConvertJob(one, "sim", 0);
  job.contract = plan.contract;
  Ask([job]() -> Command { return SubmitJob{job}; },
      [this, index, key = job.client_key](const Reply& reply) {
        const auto& submitted = std::get<SubmitReply>(reply);
        if (!submitted.problems.empty()) return false;  // the nodes that could run it have not joined yet
        parts_.oracle->OnSubmitted(key, submitted.job);
        ids_[index] = submitted.job;
        const JobPlan& plan = parts_.plan->jobs[index];
        if (plan.cancel_after < 0)
          --open_;
        else
          parts_.timeline->At(plan.at + plan.cancel_after, [this, index] { Cancel(index); });
        return true;
      });
}

void Clients::Cancel(size_t index) {
  JobId id = ids_.at(index);
  bool one = parts_.plan->jobs[index].cancel_one;
  gt::Cancel cancel{
      .targets = {{id, one ? std::optional<uint32_t>(0) : std::nullopt}}, .reason = "plan", .actor = "sim"};
  Ask([cancel]() -> Command { return cancel; },
      [this, id, one](const Reply& reply) {
        if (!one && std::get<CancelReply>(reply).outcomes.at(0) == CancelReply::Outcome::kAccepted)
          parts_.oracle->OnCancelled(id);
        --open_;
        return true;
      });
}

void Clients::Drain(size_t node, bool drain, std::function<void()> then) {
  std::string name = "n" + std::to_string(node);
  parts_.oracle->OnDrained(name, std::nullopt);
  Ask([name, drain]() -> Command { return SetDrain{.node = name, .drain = drain, .reason = "plan", .actor = "sim"}; },
      [this, name, drain, then](const Reply& reply) {
        if (!std::get<DrainReply>(reply).status.ok()) return false;  // it has not joined yet
        parts_.oracle->OnDrained(name, drain);
        then();
        return true;
      });
}

}  // namespace gt::sim
