#include <algorithm>

#include "coordinator/core/apply_internal.h"
#include "coordinator/core/transitions.h"

namespace gt::apply {
namespace {
// Around each change of what is free. Lost nodes are not listed: their names may pile up for months.
void Unlist(ClusterState* s, const Node& node) { s->spare.erase(SpareOf(node)); }
void List(ClusterState* s, const Node& node) {
  if (node.state != NodeState::kLost) s->spare.insert(SpareOf(node));
}
}  // namespace

void Take(ClusterState* s, const Attempt& attempt, const Member& member) {
  Node& node = At(s->nodes, member.node);
  Unlist(s, node);
  node.held.insert(attempt.uid);
  node.cpus_free -= attempt.cpus;
  node.memory_free -= attempt.memory;
  for (Gpu& gpu : node.gpus) {
    if (std::find(member.gpu_uuids.begin(), member.gpu_uuids.end(), gpu.uuid) == member.gpu_uuids.end()) continue;
    GT_ASSERT(gpu.user.empty());
    gpu.user = attempt.uid;
    node.gpus_free--;
  }
  List(s, node);
}

void Release(ClusterState* s, const Attempt& attempt, const Member& member) {
  Node& node = At(s->nodes, member.node);
  GT_ASSERT(node.held.erase(attempt.uid) == 1);
  Unlist(s, node);
  node.cpus_free += attempt.cpus;
  node.memory_free += attempt.memory;
  for (Gpu& gpu : node.gpus) {
    if (gpu.user != attempt.uid) continue;
    gpu.user = {};
    node.gpus_free++;
  }
  List(s, node);
  s->placement_version++;
}

void RecountNode(ClusterState* s, Node* node) {
  Unlist(s, *node);
  node->cpus_free = node->inventory.cpus;
  node->memory_free = node->inventory.memory;
  node->gpus = node->inventory.gpus;
  node->gpus_free = static_cast<int32_t>(node->gpus.size());
  List(s, *node);
  std::set<Uid> held = std::move(node->held);
  node->held.clear();
  for (const Uid& uid : held) {
    const Attempt& attempt = At(s->attempts, uid);
    Take(s, attempt, *attempt.FindMember(node->id));
  }
  s->placement_version++;
}

namespace {
void SetLeaseTimer(ClusterState* s, Node* node, Millis at) {
  if (node->lease_timer != kNever) s->timers.erase({.at = node->lease_timer, .kind = Timer::Kind::kNode, .node = node->id});
  node->lease_timer = at;
  if (at != kNever) s->timers.insert({.at = at, .kind = Timer::Kind::kNode, .node = node->id});
}
}  // namespace

void On(ClusterState* s, const NodeJoined& e) {
  if (e.node == s->next_node) s->next_node.value++;
  Node& node = s->nodes[e.node];
  node.id = e.node;
  node.name = e.name;
  node.uid = e.uid;
  node.boot_id = e.boot_id;
  node.version = e.version;
  kNodeTable.Move(&node.state, NodeState::kUp);
  node.inventory = e.inventory;
  node.connected = true;
  node.snapshot_complete = false;
  node.stale.clear();
  node.last_heard = std::max(node.last_heard, e.at);
  node.last_heard_wall = e.at_wall;
  s->node_names[e.name] = e.node;
  SetLeaseTimer(s, &node, e.lease_until);
  RecountNode(s, &node);
}

void On(ClusterState* s, const NodeInventoryChanged& e) {
  Node& node = At(s->nodes, e.node);
  node.inventory = e.inventory;
  RecountNode(s, &node);
}

void On(ClusterState* s, const NodeDisconnected& e) { At(s->nodes, e.node).connected = false; }

void On(ClusterState* s, const NodeSnapshotComplete& e) {
  Node& node = At(s->nodes, e.node);
  node.snapshot_complete = true;
  s->placement_version++;
}

void On(ClusterState* s, const NodeStale& e) {
  Node& node = At(s->nodes, e.node);
  if (e.held) {
    node.stale.insert(e.uid);
  } else if (node.stale.erase(e.uid) == 1) {
    s->placement_version++;
  }
}

void On(ClusterState* s, const NodeLost& e) {
  Node& node = At(s->nodes, e.node);
  Unlist(s, node);
  kNodeTable.Move(&node.state, NodeState::kLost);
  node.connected = node.snapshot_complete = false;
  node.stale.clear();
  SetLeaseTimer(s, &node, kNever);
}

void On(ClusterState* s, const NodeLeaseRearmed& e) { SetLeaseTimer(s, &At(s->nodes, e.node), e.at); }

void On(ClusterState* s, const NodeDrainSet& e) {
  Node& node = At(s->nodes, e.node);
  node.draining = e.draining;
  node.drain_reason = e.draining ? e.reason : "";
  node.drain_actor = e.draining ? e.actor : "";
  s->placement_version++;
}

}  // namespace gt::apply
