#include <ATen/ATen.h>

#include "worker/trainer/optim/optimizers.h"

namespace gt::trainer {
namespace {

class Sgd : public Optimizer {
 public:
  Sgd(const OptimizerSpec& spec, const OptimizerParts& parts) : spec_(spec) {
    if (spec.momentum > 0) {
      slots_ = {{"momentum", at::zeros_like(parts.flat)}};
      momenta_ = parts.cut(slots_[0].tensor);
    }
    parameters_ = parts.cut(parts.flat);
  }
  void Step(const std::vector<at::Tensor>& gradients, int64_t, double learning_rate) override {
    at::NoGradGuard no_grad;
    // Momentum starts as zeros, which without dampening is the same as "first step".
    at::_fused_sgd_(parameters_, gradients, momenta_, spec_.weight_decay, spec_.momentum, learning_rate,
                    /*dampening=*/0, /*nesterov=*/false, /*maximize=*/false, /*is_first_step=*/false);
  }

 private:
  OptimizerSpec spec_;
  std::vector<at::Tensor> parameters_, momenta_;
};

}  // namespace

Result<std::unique_ptr<Optimizer>> MakeSgd(const OptimizerSpec& spec, const OptimizerParts& parts) {
  return std::unique_ptr<Optimizer>(std::make_unique<Sgd>(spec, parts));
}

}  // namespace gt::trainer
