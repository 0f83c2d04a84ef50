// The state machines, each as a table.
#pragma once
#include "common/base/state_table.h"
#include "common/base/vocabulary.h"

namespace gt {

inline const StateTable<TaskState, 5> kTaskTable = {
    {TaskState::kQueued, {TaskState::kActive, TaskState::kCancelled}},
    {TaskState::kActive, {TaskState::kQueued, TaskState::kSucceeded, TaskState::kFailed, TaskState::kCancelled}},
};

inline const StateTable<AttemptPhase, 5> kAttemptTable = {
    {AttemptPhase::kPlaced, {AttemptPhase::kStarting, AttemptPhase::kStopping, AttemptPhase::kEnded}},
    {AttemptPhase::kStarting, {AttemptPhase::kRunning, AttemptPhase::kStopping, AttemptPhase::kEnded}},
    {AttemptPhase::kRunning, {AttemptPhase::kStopping, AttemptPhase::kEnded}},
    {AttemptPhase::kStopping, {AttemptPhase::kEnded}},
};

inline const StateTable<RendezvousState, 3> kRendezvousTable = {
    {RendezvousState::kForming, {RendezvousState::kReady, RendezvousState::kClosed}},
    {RendezvousState::kReady, {RendezvousState::kForming, RendezvousState::kClosed}},
};

inline const StateTable<NodeState, 3> kNodeTable = {
    {NodeState::kUnseen, {NodeState::kUp, NodeState::kLost}},
    {NodeState::kUp, {NodeState::kUp, NodeState::kLost}},
    {NodeState::kLost, {NodeState::kUp}},
};

}  // namespace gt
