// Between the flat memory of a TrainState and the named tensors of a checkpoint's files.
#pragma once
#include <string>
#include <vector>

#include "common/base/status.h"
#include "worker/trainer/checkpoint/format/manifest.h"
#include "worker/trainer/state.h"

namespace gt::trainer {

// model: parameters and buffers by their names; optimizer: "<slot>.<parameter>", and "scaler". With `copy` they are CPU copies, else
// views.
void SplitState(const TrainState& state, bool copy, std::vector<NamedTensor>* model,
                std::vector<NamedTensor>* optimizer);

// Loads the checkpoint in `folder`, or the newest complete one inside it. Verifies everything before it touches the
// state. kNotFound: there is none; kDataLoss: torn or corrupt; kFailedPrecondition: of another model or optimizer.
Result<Manifest> LoadCheckpoint(const std::string& folder, TrainState* state);

}  // namespace gt::trainer
