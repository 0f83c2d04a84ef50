// The norm of a step's gradients, and keeping it in bounds.
#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

namespace gt::trainer {

// The 2-norm over all gradients as one vector. Not finite when one of them is not.
double GradientNorm(const std::vector<at::Tensor>& gradients);

// Scales the gradients, whose norm is `norm`, down to `most` in place where they are larger. most 0: never.
void ClipGradients(const std::vector<at::Tensor>& gradients, double norm, double most);

}  // namespace gt::trainer
