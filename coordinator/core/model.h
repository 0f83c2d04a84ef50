// What the coordinator knows: plain data, no behaviour beyond look-ups. Changed by Apply (apply.h) and by nothing else.
// Live things only: a finished job and its tasks and attempts leave memory once their rows are on disk.
//
// Time: fields ending in _wall are UTC milliseconds, recorded and shown. Deadlines are on the monotonic clock of this
// process and are never stored; loading derives them anew.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "common/base/ids.h"
#include "common/base/time.h"
#include "common/base/vocabulary.h"

namespace gt {

// What a task needs of each of its nodes. Tasks of equal shape are interchangeable to placement.
struct Shape {
  int32_t nodes = 1;
  int32_t cpus = 1;                      // a node
  int64_t memory = 0;                    // bytes a node; 0: no request
  int32_t gpus = 0;                      // a node
  std::vector<std::string> gpu_models;   // any of these, lower case, a part of the name; empty: any
  int64_t gpu_memory = 0;                // bytes; 0: any
  auto operator<=>(const Shape&) const = default;
};

// Indices first..last of a job; 0..0 for a job that is not an array.
struct IndexRange {
  uint32_t first = 0;
  uint32_t last = 0;
  uint32_t size() const { return last - first + 1; }
};

struct RetryLimits {
  int32_t user = 0;
  int32_t infra = 10;  // within 24 h
};

// How many tasks of a job are where. They sum up to the size of the job.
struct TaskCounts {
  uint32_t queued = 0, active = 0, succeeded = 0, failed = 0, cancelled = 0;
  auto operator<=>(const TaskCounts&) const = default;
};

struct Job {
  JobId id;
  // Immutable from submission on.
  std::string client_key, name, owner;
  std::string spec;                      // serialized JobSpec; opaque here
  Shape shape;
  int32_t priority = 50;
  bool array = false;
  IndexRange range;
  int32_t ranks_per_node = 1;
  bool contract = false;                 // ranks speak the rank contract (the built-in trainer)
  RetryLimits retry;
  Millis grace = 30 * kSecond;
  Millis stop_after = 0;                 // on_disconnect: 0 = continue
  Millis submitted_wall = 0;
  // Changing.
  TaskCounts counts;
  uint32_t next_index = 0;               // tasks from here to range.last have never been placed and have no row,
  std::set<uint32_t> skipped;            // but for these, cancelled one by one before their turn; all above next_index
  bool cancel_requested = false;
  std::string cancel_reason;
  Millis started_wall = 0;               // first attempt RUNNING; 0: not yet
  Millis ended_wall = 0;
  uint32_t max_attempt = 0;              // highest attempt number over its tasks
  Cause cause = Cause::kNone;            // of the first task that failed, else of the last that ended
  std::string message;                   // one line for people, goes with cause
  int32_t exit_code = -1;                // highest so far; 128 + signal; -1: none known
  std::set<uint32_t> live_tasks;         // indices in ClusterState::tasks
  bool HasUnplaced() const { return !cancel_requested && next_index <= range.last; }
};

// A job's state follows from its counts. Over: CANCELLED if any task was, else FAILED if any did, else SUCCEEDED.
TaskState JobState(const TaskCounts& counts);
inline TaskState JobState(const Job& job) { return JobState(job.counts); }

// A rank that ended though the others can go on.
struct RankDown {
  uint32_t rank = 0;
  Generation born;                       // in which its process was started
  int32_t code = 0, signal = 0;
  std::string message, tail;
};

// What a node says of its ranks' part in the group, when they can re-form.
struct Formation {
  Generation joined;                     // newest that every rank there has joined; 0: none
  bool survives = false;                 // a rank lives there that has joined one: others get the state from it
  std::string addr;                      // where such a rank listens
  uint16_t port = 0;
  uint64_t step = 0, redone_samples = 0; // at which they joined; begun before it and to be done again
  std::vector<RankDown> down;
};

// A node's part in an attempt.
struct Member {
  NodeId node;
  AttemptPhase phase = AttemptPhase::kPlaced;
  std::vector<std::string> gpu_uuids;
  bool gone = false;                     // nothing of it lives there any more: its resources are free
  bool lost = false;                     // gone because its node was lost, rebooted or forgot it
  std::string exit;                      // serialized ExitRecord; opaque here; empty: none arrived
  std::optional<Formation> formation;    // volatile: as it last said
};

struct Rendezvous {
  RendezvousState state = RendezvousState::kForming;
  Generation generation{1};
  std::string addr;                      // of rank 0, when READY
  uint16_t port = 0;
};

// How a gang lives on when ranks of it die: the next generation is formed with replacements, in the same attempt.
struct Reform {
  Generation formed;                     // newest generation that all ranks have joined; 0: none yet
  std::vector<Generation> born;          // by rank: when its process is to have been started; empty: all in the first
  std::set<NodeId> former;               // nodes that have lost their part: they never get one of this attempt again
  // While a generation is awaited; since_wall 0: none is.
  Millis since_wall = 0;
  std::string why;                       // what broke the one before
  bool underway() const { return since_wall != 0; }
};

// The first failure of an attempt that arrived; later ones are cascades.
struct Failure {
  Cause cause = Cause::kNone;
  int32_t rank = -1;
  NodeId node;
  std::string node_name;
  int32_t code = 0, signal = 0;
  std::string message;                   // one line
  std::string tail;                      // at most 4 KiB: what it printed last
};

struct Progress {
  uint64_t step = 0, total_steps = 0, samples = 0;
  std::string phase;
  std::map<std::string, double> metrics;
  Millis at_wall = 0;
};

struct Attempt {
  Uid uid;
  TaskId task;
  uint32_t number = 0;                   // 1, 2, ...
  AttemptPhase phase = AttemptPhase::kPlaced;
  std::vector<Member> members;           // by group rank
  int32_t cpus = 0;                      // taken on each member's node
  int64_t memory = 0;
  Rendezvous rendezvous;
  Reform reform;
  Millis placed_wall = 0, running_wall = 0, ended_wall = 0;
  // While STOPPING, and after: why. kNone: nobody stopped it.
  Cause stop_cause = Cause::kNone;
  Millis stop_grace = 0;
  Failure failure;                       // the root, when there is one
  Cause cause = Cause::kNone;            // when ENDED
  std::string message;
  bool charged = false;
  int32_t exit_code = -1;
  std::string resume_from;
  uint64_t resume_step = 0;
  Progress progress;                     // volatile; stored when the attempt ends
  Millis deadline = kNever;              // monotonic, its entry in ClusterState::timers
  Millis stop_deadline = kNever;         // monotonic: STOPPING ends then, whatever still lives
  Member* FindMember(NodeId node);
  const Member* FindMember(NodeId node) const;
  bool AllGone() const;
  uint32_t RanksPerNode() const { return static_cast<uint32_t>(reform.born.size() / members.size()); }  // once born is known
};

struct Task {
  TaskId id;
  TaskState state = TaskState::kQueued;
  uint32_t attempts = 0;                 // made so far
  int32_t user_failures = 0;
  std::deque<Millis> infra_failures_wall;  // within 24 h
  Uid attempt;                           // while ACTIVE
  NodeId avoid;                          // failed last there
  Millis not_before_wall = 0;            // a retry waits; 0: no wait
  Millis not_before = 0;                 // the same, monotonic
  std::string checkpoint;                // newest accepted
  uint64_t checkpoint_step = 0;
  Cause cause = Cause::kNone;            // of the attempt that ended last
  std::string message;
};

struct Gpu {
  std::string uuid, model;
  int64_t memory = 0;
  Uid user;                              // empty: free
};

struct Inventory {
  int32_t cpus = 0;
  int64_t memory = 0;
  std::vector<Gpu> gpus;                 // `user` unset
  std::string address, containment;
  std::map<std::string, std::string> labels;
};

struct Node {
  NodeId id;
  std::string name;
  Uid uid;                               // of its data directory
  std::string boot_id, version;
  NodeState state = NodeState::kUnseen;
  bool draining = false;
  std::string drain_reason, drain_actor;
  Inventory inventory;
  // Derived from the live attempts.
  std::vector<Gpu> gpus;                 // inventory.gpus with their users
  int32_t cpus_free = 0;                 // may be negative after an inventory that shrank
  int64_t memory_free = 0;
  int32_t gpus_free = 0;
  std::set<Uid> held;                    // attempts with a member here that is not gone
  // Volatile: this process's knowledge.
  bool connected = false;
  bool snapshot_complete = false;        // it told all that it holds, in this epoch
  std::set<Uid> stale;                   // it holds these, and nobody wants them: no placement until they are gone
  Millis last_heard = 0;                 // monotonic
  Millis lease_timer = kNever;           // its entry in ClusterState::timers; kNever: none
  Millis last_heard_wall = 0;
};

// Tasks that wait for resources and nothing else, in order. An array's unplaced rest is one entry.
struct ReadyKey {
  JobId job;
  uint32_t index = 0;                    // of a task that was tried before; the rest of a range sorts by its next index
  auto operator<=>(const ReadyKey&) const = default;
};
struct Bucket {
  std::set<ReadyKey> entries;            // never empty
};

struct Timer {
  enum class Kind : uint8_t { kAttempt, kTask, kNode };
  Millis at = 0;
  Kind kind = Kind::kAttempt;
  Uid uid;
  TaskId task;
  NodeId node;
  auto operator<=>(const Timer&) const = default;
};

// A node's place among all: least to spare first; nodes without free GPUs before nodes with.
struct SpareKey {
  int32_t gpus = 0, cpus = 0;
  int64_t memory = 0;
  NodeId node;
  auto operator<=>(const SpareKey&) const = default;
};
inline SpareKey SpareOf(const Node& node) { return {node.gpus_free, node.cpus_free, node.memory_free, node.id}; }

struct ClusterState {
  std::string cluster_id;
  Epoch epoch;
  JobId next_job{1};
  NodeId next_node{1};
  std::unordered_map<JobId, Job> jobs;
  std::unordered_map<std::string, JobId> keys;       // client keys of live jobs; the store knows those of finished ones
  std::unordered_map<TaskId, Task> tasks;
  std::unordered_map<Uid, Attempt> attempts;         // ENDED ones stay until every member is gone
  std::map<NodeId, Node> nodes;
  std::unordered_map<std::string, NodeId> node_names;

  // Indices over the above, kept by Apply.
  std::map<int32_t, std::map<Shape, Bucket>, std::greater<>> ready;  // priority, high first
  std::set<SpareKey> spare;                          // every node that is not lost
  std::set<Timer> timers;
  std::set<JobId> sweeping;                          // cancelled jobs whose unplaced tasks are not yet counted off
  uint64_t placement_version = 1;                    // rises when something became free or ready: placement has work
  Millis listening_since = 0;                        // monotonic; leases of nodes never heard of start here

  const Job* FindJob(JobId id) const;
  const Task* FindTask(TaskId id) const;
  const Attempt* FindAttempt(const Uid& uid) const;
  const Node* FindNode(NodeId id) const;
};

}  // namespace gt
