// How a generation becomes a group: its store, then the fastest scheme that all its ranks can use.
#pragma once
#include <functional>
#include <memory>

#include "common/base/status.h"
#include "worker/trainer/collective/group.h"
#include "worker/trainer/contract/environment.h"
#include "worker/trainer/cuda/seam.h"

namespace gt::trainer {

// Blocks and may throw: for the builder thread. `give_up` turns true when the generation is overtaken. `cuda` is null
// on CPU.
Result<std::shared_ptr<Group>> FormGroup(const Rendezvous& rendezvous, const Environment& env, CudaPlugin* cuda,
                                         const std::function<bool()>& give_up);

}  // namespace gt::trainer
