// One session a connected node: what it still has to be told. Volatile and pure; the loop marks what changed, the edge takes
// the next message when the one in flight is acknowledged. Later changes merge, so a message carries each attempt once,
// as it is at that moment.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "coordinator/core/event.h"
#include "coordinator/core/orders.h"

namespace gt {

class Sessions {
 public:
  // A stream was accepted for the node; a previous session of it ends. All that the node should run is due (a snapshot).
  void Open(uint64_t session, NodeId node);
  void Close(uint64_t session);
  // We end it, not the stream: what still comes on it counts for nothing, so the edge must cut the stream (TakeEnded), or
  // its worker would believe that it is still in.
  void End(uint64_t session);
  std::vector<uint64_t> TakeEnded() { return std::exchange(ended_, {}); }
  // The node to which the session belongs, or nullopt for one that was never accepted or was replaced.
  std::optional<NodeId> NodeOf(uint64_t session) const;
  std::optional<uint64_t> SessionOf(NodeId node) const;

  // Reports up to seq are on disk after this batch; orders up to ack are done there.
  void OnReport(uint64_t session, uint64_t seq, uint64_t ack);
  // The node's snapshot in parts: the uids named between begin and end.
  void BeginSnapshot(uint64_t session);
  void NoteNamed(uint64_t session, const Uid& uid);
  std::set<Uid> EndSnapshot(uint64_t session);
  // The attempt changed: every session that has a part in it is due. Called for each event after Apply.
  void OnEvent(const Event& event, const ClusterState& state);
  void MarkAttempt(NodeId node, const Uid& uid);
  void MarkForget(NodeId node, const Uid& uid);  // its exit is on disk, or nobody wants it and it is gone

  // Sessions with something to send that have nothing in flight, each once. Cleared by NextOrders.
  std::vector<uint64_t> Due() const;
  // The next message; nullopt when nothing is due. Bounded: at most 512 attempts a message, the rest follows.
  std::optional<Orders> NextOrders(uint64_t session, const ClusterState& state);

 private:
  struct Session {
    NodeId node;
    uint64_t next_seq = 1, in_flight = 0;
    uint64_t ack_due = 0, acked = 0;
    bool snapshot_begin = true, snapshot_end = false;  // still to be sent
    bool collecting = false;                           // between the node's snapshot_begin and snapshot_end
    std::set<Uid> named;
    std::set<Uid> dirty;
    std::vector<Uid> forget;
    std::unordered_set<JobId> jobs_sent;
    size_t sweep_jobs_at = 10'000;
    bool HasWork() const { return snapshot_begin || snapshot_end || !dirty.empty() || !forget.empty(); }
  };
  void Touch(uint64_t session);
  static void SweepJobs(Session* session, const ClusterState& state, Orders* orders);

  std::unordered_map<uint64_t, Session> sessions_;
  std::unordered_map<NodeId, uint64_t> by_node_;
  std::set<uint64_t> due_;
  std::vector<uint64_t> ended_;
};

}  // namespace gt
