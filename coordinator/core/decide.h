// Decisions: pure functions from the state, one thing that happened and one reading of the clock to events. Each emitted
// event is applied before the next line of the decision runs, so a decision always sees its own effects.
// Everything remote is validated here: what is wrong, late or from a stranger changes nothing.
#pragma once
#include <functional>

#include "coordinator/core/command.h"
#include "coordinator/core/engine.h"
#include "coordinator/core/event.h"
#include "coordinator/core/policy.h"
#include "coordinator/core/sessions.h"

namespace gt {

struct Turn {
  const ClusterState& state;
  const Policy& policy;
  Now now;
  std::function<void(Event)> emit;    // Apply, history, sessions, touched rows
  const std::function<Uid()>& new_uid;
  Sessions* sessions = nullptr;
  const FinishedKeyLookup* finished_key = nullptr;
};

SubmitReply DecideSubmit(Turn& turn, SubmitJob& command);
CancelReply DecideCancel(Turn& turn, const Cancel& command);
DrainReply DecideDrain(Turn& turn, const SetDrain& command);
HelloReply DecideHello(Turn& turn, const NodeHello& command);
void DecideGone(Turn& turn, const NodeGone& command);
void DecideReport(Turn& turn, const NodeReport& command);

// Everything that is due: attempts past their deadline, retries whose wait is over, nodes silent for too long, and the next
// part of each cancelled job's unplaced tasks. Bounded by policy.sweep_batch.
void Expire(Turn& turn);

// --- steps that several decisions share (settle.cc) -------------------------------------------------------------------
// A failure arrived: remembered if it is the first, and the rest of the gang is told to stop.
void Fail(Turn& turn, const Uid& uid, Failure failure);
// Stops an attempt that lives; a second stop may only shorten the grace.
void Stop(Turn& turn, const Uid& uid, Cause cause, Millis grace);
// A member of the attempt is known to be gone from its node.
void LoseMember(Turn& turn, const Uid& uid, NodeId node, const std::string& why);
// Ends the attempt if nothing more is to be waited for, and decides about its task.
void SettleIfDone(Turn& turn, const Uid& uid);
// Ends a STOPPING attempt whose deadline has passed: what still lives keeps its own resources out of service.
void EndOverdue(Turn& turn, const Uid& uid);
// The job is over when all its tasks are.
void FinishJobIfDone(Turn& turn, JobId job);
// Silent past SUSPECT: shown to people; a broken gang does not wait for it.
bool IsSuspect(const Node& node, const Policy& policy, Now now);

}  // namespace gt
