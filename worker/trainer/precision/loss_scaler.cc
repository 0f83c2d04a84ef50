#include "worker/trainer/precision/loss_scaler.h"

#include <ATen/ATen.h>

namespace gt::trainer {
namespace {

constexpr double kInitialScale = 65536, kGrowth = 2, kBackoff = 0.5, kLeastScale = 1;  // PyTorch's, and a floor
constexpr int64_t kGrowthInterval = 2000;
constexpr int64_t kScale = 0, kTracker = 1, kSkipped = 2;

}  // namespace

at::Tensor LossScaler::InitialState() { return at::tensor({kInitialScale, 0.0, 0.0}, at::kFloat); }

double LossScaler::scale() const { return state_[kScale].item<double>(); }
int64_t LossScaler::skipped() const { return static_cast<int64_t>(state_[kSkipped].item<double>()); }

bool LossScaler::Unscale(const std::vector<at::Tensor>& gradients) const {
  at::NoGradGuard no_grad;
  at::Tensor found = at::zeros({1}, gradients.at(0).options().requires_grad(false));
  at::Tensor inverse = at::full({1}, 1.0 / scale(), found.options());
  at::_amp_foreach_non_finite_check_and_unscale_(gradients, found, inverse);
  return found.item<float>() == 0;
}

bool LossScaler::Update(bool finite) {
  at::NoGradGuard no_grad;
  at::Tensor scale = state_.narrow(0, kScale, 1).clone(), tracker = state_.narrow(0, kTracker, 1).to(at::kInt);
  at::Tensor found = at::full({1}, finite ? 0.0 : 1.0, state_.options());
  at::_amp_update_scale_(scale, tracker, found, kGrowth, kBackoff, kGrowthInterval);
  if (scale.item<double>() < kLeastScale) return false;
  state_.narrow(0, kScale, 1).copy_(scale);
  state_.narrow(0, kTracker, 1).copy_(tracker);
  return true;
}

void LossScaler::CountSkipped() {
  at::NoGradGuard no_grad;
  state_.narrow(0, kSkipped, 1).add_(1);
}

}  // namespace gt::trainer
