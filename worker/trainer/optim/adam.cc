#include <ATen/ATen.h>

#include "worker/trainer/optim/optimizers.h"

namespace gt::trainer {
namespace {

constexpr double kEpsilon = 1e-8;

class Adam : public Optimizer {
 public:
  Adam(const OptimizerSpec& spec, const OptimizerParts& parts, bool decoupled)
      : beta1_(spec.beta1), beta2_(spec.beta2), weight_decay_(spec.weight_decay), decoupled_(decoupled) {
    slots_ = {{"exp_avg", at::zeros_like(parts.flat)}, {"exp_avg_sq", at::zeros_like(parts.flat)}};
    parameters_ = parts.cut(parts.flat);
    averages_ = parts.cut(slots_[0].tensor);
    squares_ = parts.cut(slots_[1].tensor);
    step_ = at::zeros({}, parts.flat.options());
    steps_.assign(parameters_.size(), step_);  // read only: one tensor serves all
  }
  void Step(const std::vector<at::Tensor>& gradients, int64_t step, double learning_rate) override {
    at::NoGradGuard no_grad;
    step_.fill_(static_cast<double>(step));
    if (decoupled_)
      at::_fused_adamw_(parameters_, gradients, averages_, squares_, {}, steps_, learning_rate, beta1_, beta2_,
                        weight_decay_, kEpsilon, false, false);
    else
      at::_fused_adam_(parameters_, gradients, averages_, squares_, {}, steps_, learning_rate, beta1_, beta2_,
                       weight_decay_, kEpsilon, false, false);
  }

 private:
  double beta1_, beta2_, weight_decay_;
  bool decoupled_;
  std::vector<at::Tensor> parameters_, averages_, squares_, steps_;
  at::Tensor step_;
};

Result<std::unique_ptr<Optimizer>> Make(const OptimizerSpec& spec, const OptimizerParts& parts, bool decoupled) {
  if (spec.momentum != 0) return Status(Code::kInvalidArgument, "optimizer.momentum is for sgd; adam has its own");
  return std::unique_ptr<Optimizer>(std::make_unique<Adam>(spec, parts, decoupled));
}

}  // namespace

Result<std::unique_ptr<Optimizer>> MakeAdam(const OptimizerSpec& spec, const OptimizerParts& parts) {
  return Make(spec, parts, /*decoupled=*/false);
}
Result<std::unique_ptr<Optimizer>> MakeAdamW(const OptimizerSpec& spec, const OptimizerParts& parts) {
  return Make(spec, parts, /*decoupled=*/true);
}

}  // namespace gt::trainer
