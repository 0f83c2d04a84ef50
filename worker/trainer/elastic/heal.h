// Brings all ranks of a group to one state: that of a rank at the highest step.
#pragma once
#include "common/base/status.h"
#include "worker/trainer/collective/group.h"
#include "worker/trainer/state.h"

namespace gt::trainer {

// Collective. Nothing of the live state changes before everything has arrived and every rank has said so; on an error
// the state is what it was. kNotFound: no rank has a state (all were to resume and none could read the checkpoint).
Status Heal(Group& group, TrainState& state);

}  // namespace gt::trainer
