// What happened. Apply(state, event) is total and the only code that changes the state; the store writes the rows that
// the events of a batch touched, and a line of history for those that people care about (history.h).
#pragma once
#include <string>
#include <variant>
#include <vector>

#include "coordinator/core/model.h"

namespace gt {

struct JobSubmitted { Job job; };
struct JobCancelRequested { JobId job; std::string reason, actor; };
struct IndexCancelled { TaskId task; };                     // one task of an array that was never placed
struct UnplacedCancelled { JobId job; uint32_t count = 0; Millis at_wall = 0; };  // the next `count` tasks of the range

struct AttemptPlaced { Attempt attempt; };                 // phase PLACED; its task becomes ACTIVE
struct MemberAdvanced { Uid uid; NodeId node; AttemptPhase phase = AttemptPhase::kStarting; };
struct RendezvousReady { Uid uid; Generation generation; std::string addr; uint16_t port = 0; };
struct MemberFormed { Uid uid; NodeId node; Formation formation; };    // volatile
// Ranks died or nodes were lost, and the gang forms the next generation with replacements. `moved`: members that start on
// another node.
struct ReformStarted {
  struct Moved { uint32_t group_rank = 0; Member member; };
  Uid uid;
  Generation generation;
  std::vector<Generation> born;                            // by rank
  std::vector<Moved> moved;
  std::string why;
  Budget charged = Budget::kUser;
  Millis at_wall = 0, deadline = 0;
};
struct GangFormed { Uid uid; Generation generation; Millis took = 0; uint64_t redone_samples = 0; };  // every rank has joined
struct AttemptStarting { Uid uid; };
struct AttemptRunning { Uid uid; Millis at_wall = 0; };
// The first reason wins; a later one may only shorten the grace.
// Its timer fires at check_at, to look again whether all that can confirm has done so, and at last at deadline.
struct AttemptStopping { Uid uid; Cause cause = Cause::kNone; Millis grace = 0, deadline = 0, check_at = 0; };
struct StopRechecked { Uid uid; Millis check_at = 0; };
struct FailureSeen { Uid uid; Failure failure; };          // the root: at most one an attempt
struct MemberGone { Uid uid; NodeId node; bool lost = false; std::string exit; int32_t exit_code = -1; };
struct ProgressMade { Uid uid; Progress progress; };       // volatile
struct CheckpointAccepted { TaskId task; Uid uid; std::string path; uint64_t step = 0; };
struct ExitSkewArmed { Uid uid; Millis deadline = 0; };     // a member is done, others run on
struct AttemptEnded {
  Uid uid;
  Cause cause = Cause::kNone;
  std::string message;
  bool charged = false;
  int32_t exit_code = -1;
  Millis at_wall = 0;
};
struct TaskRequeued { TaskId task; Budget charged = Budget::kFree; NodeId avoid; Millis not_before_wall = 0, not_before = 0, at_wall = 0; std::string redone; };
struct TaskReady { TaskId task; };                         // its wait is over
struct TaskFinished { TaskId task; TaskState state = TaskState::kFailed; Cause cause = Cause::kNone; std::string message; int32_t exit_code = -1; Millis at_wall = 0; };
struct JobFinished { JobId job; Millis at_wall = 0; };     // every task is final; it leaves memory after the commit

struct NodeJoined { NodeId node; std::string name; Uid uid; std::string boot_id, version; Inventory inventory; Millis at = 0, at_wall = 0, lease_until = 0; };  // new or back
struct NodeInventoryChanged { NodeId node; Inventory inventory; };
struct NodeDisconnected { NodeId node; };                  // volatile: the stream broke
struct NodeSnapshotComplete { NodeId node; };              // volatile
struct NodeStale { NodeId node; Uid uid; bool held = true; };       // volatile: holds (no longer holds) what nobody wants
struct NodeLost { NodeId node; Millis silent_for = 0; };
struct NodeLeaseRearmed { NodeId node; Millis at = 0; };    // volatile: its timer moves to `at`
struct NodeDrainSet { NodeId node; bool draining = false; std::string reason, actor; };

using Event = std::variant<JobSubmitted, JobCancelRequested, IndexCancelled, UnplacedCancelled, AttemptPlaced, MemberAdvanced, RendezvousReady,
                           MemberFormed, ReformStarted, GangFormed,
                           AttemptStarting, AttemptRunning, AttemptStopping, StopRechecked, FailureSeen, MemberGone, ProgressMade,
                           CheckpointAccepted, ExitSkewArmed, AttemptEnded, TaskRequeued, TaskReady, TaskFinished, JobFinished, NodeJoined,
                           NodeInventoryChanged, NodeDisconnected, NodeSnapshotComplete, NodeStale, NodeLost, NodeLeaseRearmed,
                           NodeDrainSet>;

}  // namespace gt
