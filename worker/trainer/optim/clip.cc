#include "worker/trainer/optim/clip.h"

#include <ATen/ATen.h>

namespace gt::trainer {
namespace {
constexpr double kEpsilon = 1e-6;  // as in PyTorch's clip_grad_norm_
}

double GradientNorm(const std::vector<at::Tensor>& gradients) {
  at::NoGradGuard no_grad;
  return at::stack(at::_foreach_norm(gradients, 2)).norm().item<double>();
}

void ClipGradients(const std::vector<at::Tensor>& gradients, double norm, double most) {
  double factor = most / (norm + kEpsilon);
  if (most <= 0 || factor >= 1) return;
  at::NoGradGuard no_grad;
  at::_foreach_mul_(gradients, factor);
}

}  // namespace gt::trainer
