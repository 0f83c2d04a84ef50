// Activation checkpointing: a block keeps its input alone, and computes the rest again in the backward pass.
#pragma once
#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace gt::trainer {

// block(x), whose values and gradients are those of a plain call. `parameters`: all that `block` uses and that is to get a
// gradient. The second run draws the same random numbers and computes in the same precision; it must not change state:
// a block that would (running means) asks IsRecomputing.
at::Tensor Recomputed(const std::function<at::Tensor(const at::Tensor&)>& block, const at::Tensor& x,
                      const std::vector<at::Tensor>& parameters);

// Whether this thread is inside the second run of a block.
bool IsRecomputing();

}  // namespace gt::trainer
