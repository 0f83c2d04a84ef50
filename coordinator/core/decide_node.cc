// Streams of nodes come and go.
#include "coordinator/core/decide.h"

namespace gt {
namespace {

std::string WhyRefused(const Turn& turn, const NodeHello& hello) {
  if (hello.name.empty() || hello.name.size() > 100) return "the node's name must have 1 to 100 bytes";
  if (hello.uid.empty()) return "the worker did not say which data directory it has";
  if (hello.cluster_id != turn.state.cluster_id)
    return "this worker's access file is of another cluster (" + hello.cluster_id + "), here is " + turn.state.cluster_id;
  if (hello.last_epoch > turn.state.epoch)
    return "this worker has obeyed a later start of the coordinator (epoch " + std::to_string(hello.last_epoch.value) +
           ", here is " + std::to_string(turn.state.epoch.value) + "): this database is an old copy";
  return "";
}

}  // namespace

// The edge has made sure that no older stream of this node still answers.
HelloReply DecideHello(Turn& turn, const NodeHello& hello) {
  HelloReply reply;
  reply.refused = WhyRefused(turn, hello);
  if (!reply.refused.empty()) return reply;
  auto known = turn.state.node_names.find(hello.name);
  NodeId id = known == turn.state.node_names.end() ? turn.state.next_node : known->second;
  const Node* before = turn.state.FindNode(id);
  bool rebooted = before != nullptr && (before->boot_id != hello.boot_id || before->uid != hello.uid);
  if (before != nullptr) reply.replaces = turn.sessions->SessionOf(id).value_or(0);
  reply.node = id;
  turn.emit(NodeJoined{.node = id, .name = hello.name, .uid = hello.uid, .boot_id = hello.boot_id, .version = hello.version,
                       .inventory = hello.inventory, .at = turn.now.mono, .at_wall = turn.now.wall,
                       .lease_until = turn.now.mono + turn.policy.node_lost_after});
  turn.sessions->Open(hello.session, id);
  if (!rebooted) return reply;
  std::set<Uid> held = turn.state.FindNode(id)->held;
  for (const Uid& uid : held) LoseMember(turn, uid, id, "was rebooted");
  return reply;
}

void DecideGone(Turn& turn, const NodeGone& command) {
  std::optional<NodeId> node = turn.sessions->NodeOf(command.session);
  if (!node) return;
  turn.sessions->Close(command.session);
  turn.emit(NodeDisconnected{*node});
}

}  // namespace gt
