#include "tests/support/state_text.h"

#include <algorithm>
#include <sstream>
#include <vector>

namespace gt {
namespace {

template <typename... Fields>
std::string Line(const char* what, const Fields&... fields) {
  std::ostringstream out;
  out << what;
  ((out << '|' << fields), ...);
  out << '\n';
  return out.str();
}

std::string Joined(const std::vector<std::string>& list) {
  std::string text;
  for (const std::string& one : list) text += one + ",";
  return text;
}

template <typename Map>
std::string Sorted(const Map& map) {
  std::vector<std::string> texts;
  for (const auto& [id, value] : map) texts.push_back(TextOf(value));
  std::sort(texts.begin(), texts.end());
  std::string all;
  for (const std::string& text : texts) all += text;
  return all;
}

}  // namespace

std::string TextOf(const Job& j) {
  return Line("job", j.id.value, j.client_key, j.name, j.owner, j.spec, j.shape.nodes, j.shape.cpus, j.shape.memory, j.shape.gpus,
              Joined(j.shape.gpu_models), j.shape.gpu_memory, j.priority, j.array, j.range.first, j.range.last, j.ranks_per_node,
              j.contract, j.retry.user, j.retry.infra, j.grace, j.stop_after, j.submitted_wall, j.counts.queued, j.counts.active,
              j.counts.succeeded, j.counts.failed, j.counts.cancelled, j.next_index, j.cancel_requested, j.cancel_reason,
              j.started_wall, j.ended_wall, j.max_attempt, Name(j.cause), j.message, j.exit_code);
}

std::string TextOf(const Task& t) {
  std::string infra;
  for (Millis at : t.infra_failures_wall) infra += std::to_string(at) + ",";
  return Line("task", ToString(t.id, true), Name(t.state), t.attempts, t.user_failures, infra, ToHex(t.attempt), t.avoid.value,
              t.not_before_wall, t.checkpoint, t.checkpoint_step, Name(t.cause), t.message);
}

std::string TextOf(const Attempt& a) {
  std::string text = Line("attempt", ToHex(a.uid), ToString(a.task, true), a.number, Name(a.phase), a.cpus, a.memory,
                          Name(a.rendezvous.state), a.rendezvous.generation.value, a.rendezvous.addr, a.rendezvous.port,
                          a.placed_wall, a.running_wall, a.ended_wall, Name(a.stop_cause), a.stop_grace, Name(a.cause), a.message,
                          a.charged, a.exit_code, a.resume_from, a.resume_step);
  for (const Member& m : a.members)
    text += Line(" member", m.node.value, Name(m.phase), Joined(m.gpu_uuids), m.gone, m.lost, m.exit);
  const Reform& r = a.reform;
  if (r.formed.value > 0) {
    text += Line(" reform", r.formed.value, r.since_wall, r.why);
    for (Generation born : r.born) text += Line("  born", born.value);
    for (NodeId node : r.former) text += Line("  former", node.value);
  }
  const Failure& f = a.failure;
  if (f.cause != Cause::kNone)
    text += Line(" failure", Name(f.cause), f.rank, f.node.value, f.node_name, f.code, f.signal, f.message, f.tail);
  if (a.phase == AttemptPhase::kEnded) {
    const Progress& p = a.progress;
    text += Line(" progress", p.step, p.total_steps, p.samples, p.phase, p.at_wall);
    for (const auto& [name, value] : p.metrics) text += Line("  metric", name, value);
  }
  return text;
}

std::string TextOf(const Node& n) {
  const Inventory& i = n.inventory;
  std::string text = Line("node", n.id.value, n.name, ToHex(n.uid), n.boot_id, n.version, Name(n.state), n.draining, n.drain_reason,
                          n.drain_actor, i.cpus, i.memory, i.address, i.containment);
  for (const Gpu& gpu : i.gpus) text += Line(" gpu", gpu.uuid, gpu.model, gpu.memory);
  for (const auto& [key, value] : i.labels) text += Line(" label", key, value);
  return text;
}

std::string TextOf(const ClusterState& s) {
  return Line("counters", s.next_job.value, s.next_node.value) + Sorted(s.jobs) + Sorted(s.tasks) + Sorted(s.attempts) +
         Sorted(s.nodes);
}

}  // namespace gt
