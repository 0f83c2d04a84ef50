// Optimizers as one fused operation per step. A new one is one file here and one line in registry.cc.
#pragma once
#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <vector>

#include "common/base/status.h"
#include "worker/trainer/models/model.h"
#include "worker/trainer/spec.h"

namespace gt::trainer {

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  // Step number `step` (the first is 1): changes the parameters that it was made for. Nothing may throw in here that
  // did not throw in the step before.
  virtual void Step(const std::vector<at::Tensor>& gradients, int64_t step, double learning_rate) = 0;
  // Its state, each slot flat and laid out as the parameters are. Zero before the first step.
  const std::vector<NamedTensor>& slots() const { return slots_; }

 protected:
  std::vector<NamedTensor> slots_;
};

// What an optimizer is made of: the flat parameters, and how to cut something of their layout into one view per
// parameter.
struct OptimizerParts {
  at::Tensor flat;
  std::function<std::vector<at::Tensor>(const at::Tensor& flat)> cut;
};

Result<std::unique_ptr<Optimizer>> MakeOptimizer(const OptimizerSpec& spec, const at::Tensor& flat_parameters,
                                                 std::function<std::vector<at::Tensor>(const at::Tensor&)> cut);

}  // namespace gt::trainer
