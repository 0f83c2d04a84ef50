#include "coordinator/core/touched.h"

namespace gt {
namespace {

struct Toucher {
  const ClusterState& state;
  Batch* batch;

  void TouchTask(TaskId id) {
    batch->touched_tasks.insert(id);
    batch->touched_jobs.insert(id.job);
  }
  void TouchAttempt(const Uid& uid) { batch->touched_attempts.insert(uid); }
  // A change that people see in the job's summary, though the job's row may stay as it is.
  void TouchWhole(const Uid& uid) {
    TouchAttempt(uid);
    batch->touched_jobs.insert(state.FindAttempt(uid)->task.job);
  }

  void operator()(const JobSubmitted& e) {
    batch->counters_touched = true;
    batch->touched_jobs.insert(e.job.id);
  }
  void operator()(const JobCancelRequested& e) { batch->touched_jobs.insert(e.job); }
  void operator()(const IndexCancelled& e) { TouchTask(e.task); }
  void operator()(const UnplacedCancelled& e) { batch->touched_jobs.insert(e.job); }
  void operator()(const AttemptPlaced& e) {
    TouchAttempt(e.attempt.uid);
    TouchTask(e.attempt.task);
  }
  void operator()(const MemberAdvanced& e) { TouchAttempt(e.uid); }
  void operator()(const RendezvousReady& e) { TouchAttempt(e.uid); }
  void operator()(const MemberFormed&) {}
  void operator()(const ReformStarted& e) {
    TouchWhole(e.uid);
    TouchTask(state.FindAttempt(e.uid)->task);
  }
  void operator()(const GangFormed& e) { TouchWhole(e.uid); }
  void operator()(const AttemptStarting& e) { TouchWhole(e.uid); }
  void operator()(const AttemptRunning& e) { TouchWhole(e.uid); }
  void operator()(const AttemptStopping& e) { TouchWhole(e.uid); }
  void operator()(const StopRechecked&) {}
  void operator()(const FailureSeen& e) { TouchAttempt(e.uid); }
  void operator()(const MemberGone& e) { TouchAttempt(e.uid); }
  void operator()(const ProgressMade&) {}
  void operator()(const CheckpointAccepted& e) { TouchTask(e.task); }
  void operator()(const ExitSkewArmed&) {}
  void operator()(const AttemptEnded& e) { TouchWhole(e.uid); }
  void operator()(const TaskRequeued& e) { TouchTask(e.task); }
  void operator()(const TaskReady& e) { TouchTask(e.task); }
  void operator()(const TaskFinished& e) { TouchTask(e.task); }
  void operator()(const JobFinished& e) { batch->touched_jobs.insert(e.job); }
  void operator()(const NodeJoined& e) {
    batch->counters_touched = true;
    batch->touched_nodes.insert(e.node);
  }
  void operator()(const NodeInventoryChanged& e) { batch->touched_nodes.insert(e.node); }
  void operator()(const NodeDisconnected&) {}
  void operator()(const NodeSnapshotComplete&) {}
  void operator()(const NodeStale&) {}
  void operator()(const NodeLost& e) { batch->touched_nodes.insert(e.node); }
  void operator()(const NodeLeaseRearmed&) {}
  void operator()(const NodeDrainSet& e) { batch->touched_nodes.insert(e.node); }
};

}  // namespace

void Touch(const Event& event, const ClusterState& state, Batch* batch) { std::visit(Toucher{state, batch}, event); }

}  // namespace gt
