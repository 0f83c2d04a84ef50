// The optimizers that registry.cc lists. Each lives in a file of its own.
#pragma once
#include "worker/trainer/optim/optimizer.h"

namespace gt::trainer {

// Adam with epsilon 1e-8 and L2 weight decay; adamw decouples the decay.
Result<std::unique_ptr<Optimizer>> MakeAdam(const OptimizerSpec& spec, const OptimizerParts& parts);
Result<std::unique_ptr<Optimizer>> MakeAdamW(const OptimizerSpec& spec, const OptimizerParts& parts);
// SGD with optional momentum (no dampening, not Nesterov) and L2 weight decay.
Result<std::unique_ptr<Optimizer>> MakeSgd(const OptimizerSpec& spec, const OptimizerParts& parts);

}  // namespace gt::trainer
