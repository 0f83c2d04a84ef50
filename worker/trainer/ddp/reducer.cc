#include "worker/trainer/ddp/reducer.h"

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include "worker/trainer/metrics/meter.h"

namespace gt::trainer {
namespace {

constexpr int64_t kFirstBucketBytes = 1 << 20, kBucketBytes = 25 << 20;
constexpr int64_t kLossFlag = 0, kPreemptFlag = 1, kFlagCount = 2;  // behind them: the buffers

}  // namespace

class GradientReducer::SumHook : public c10d::CommHookInterface {
 public:
  explicit SumHook(c10::intrusive_ptr<AbortableBackend> backend) : backend_(std::move(backend)) {}
  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override {
    last_bucket_us_ = MonotonicMicros();
    std::vector<at::Tensor> tensors{bucket.getBufferRef()};
    return backend_->allreduce(tensors, c10d::AllreduceOptions())->getFuture();
  }
  at::Tensor parseHookResult(const c10::IValue& result) override {
    return result.isTensorList() ? result.toTensorVector()[0] : result.toTensor();
  }

  // When the last bucket was complete: nothing of the backward pass is left then.
  int64_t last_bucket_us() const { return last_bucket_us_; }

 private:
  c10::intrusive_ptr<AbortableBackend> backend_;
  int64_t last_bucket_us_ = 0;
};

std::vector<int64_t> RecordReadyOrder(const std::vector<at::Tensor>& parameters, const std::function<void()>& run) {
  std::vector<int64_t> order;
  std::vector<unsigned> hooks;
  // A block that is computed again sees each of its gradients twice; the second time is the one that is accumulated.
  auto ready = [&order](int64_t i) {
    std::erase(order, i);
    order.push_back(i);
  };
  for (size_t i = 0; i < parameters.size(); ++i)
    hooks.push_back(
        parameters[i].register_hook([ready, i](const at::Tensor&) { ready(static_cast<int64_t>(i)); }));
  run();
  for (size_t i = 0; i < parameters.size(); ++i) {
    parameters[i].remove_hook(hooks[i]);
    parameters[i].mutable_grad() = at::Tensor();
  }
  return order;
}

GradientReducer::GradientReducer(std::shared_ptr<Group> group, const std::vector<at::Tensor>& parameters,
                                 const std::vector<int64_t>& order, int64_t buffers)
    : group_(std::move(group)), parameters_(parameters) {
  flags_ = at::zeros({kFlagCount + buffers}, parameters_.at(0).options().requires_grad(false));
  flags_.set_requires_grad(true);
  flag_values_ = at::zeros({kFlagCount + buffers}, flags_.options());

  // The flags hang directly on the loss, so their gradient is ready first of all.
  std::vector<at::Tensor> all = parameters_, by_order{flags_};
  all.push_back(flags_);
  std::vector<int64_t> indices{static_cast<int64_t>(parameters_.size())};
  for (int64_t i : order) {
    by_order.push_back(parameters_[static_cast<size_t>(i)]);
    indices.push_back(i);
  }
  std::vector<size_t> limits{kFirstBucketBytes, kBucketBytes};
  std::vector<bool> sparse(all.size(), false);
  auto [buckets, bucket_limits] = c10d::compute_bucket_assignment_by_size(by_order, limits, sparse, indices);
  for (const at::Tensor& parameter : all) parameter.mutable_grad() = at::Tensor();
  reducer_ = std::make_unique<c10d::Reducer>(all, buckets, group_->process_group(), sparse, kBucketBytes,
                                             /*find_unused_parameters=*/false, /*gradient_as_bucket_view=*/true,
                                             std::unordered_map<size_t, std::string>{}, kFirstBucketBytes,
                                             /*skip_all_reduce_unused_params=*/false, /*use_python_reducer=*/false,
                                             std::vector<int64_t>{});
  auto hook = std::make_unique<SumHook>(group_->backend());
  hook_ = hook.get();
  reducer_->register_comm_hook(std::move(hook));
}

GradientReducer::~GradientReducer() {
  Status dropped = CatchTorch([&] { reducer_.reset(); });  // its destructor may throw
  (void)dropped;                                           // and there is nothing left to do about it
  for (const at::Tensor& parameter : parameters_) parameter.mutable_grad() = at::Tensor();
}

void GradientReducer::BeginStep() {
  reducer_->rebuild_buckets();  // unconditionally: it is also what notices a parameter without a gradient
  for (const at::Tensor& parameter : parameters_) parameter.mutable_grad() = at::Tensor();
  flags_.mutable_grad() = at::Tensor();
  reducer_->prepare_for_forward();
}

at::Tensor GradientReducer::Attach(const at::Tensor& loss, const StepFlags& flags) {
  {
    at::NoGradGuard no_grad;
    flag_values_.select(0, kLossFlag).copy_(flags.loss);
    flag_values_.select(0, kPreemptFlag).fill_(flags.preempt ? 1.0 : 0.0);
    if (flags.buffers.defined()) flag_values_.slice(0, kFlagCount).copy_(flags.buffers);
  }
  reducer_->prepare_for_backward({});
  return loss + at::dot(flags_, flag_values_);  // adds zero, whose gradient for flags_ is flag_values_
}

GradientReducer::Outcome GradientReducer::Backward(const at::Tensor& loss, const StepFlags& flags) {
  Attach(loss, flags).backward();
  int64_t wait = MonotonicMicros() - hook_->last_bucket_us();
  at::Tensor sums = flags_.grad().narrow(0, 0, kFlagCount).to(at::kCPU);
  const float* values = sums.const_data_ptr<float>();
  return {.loss = values[kLossFlag],
          .preempt = values[kPreemptFlag] > 0,
          .buffers = flags_.grad().slice(0, kFlagCount),
          .wait_us = wait};
}

std::vector<at::Tensor> GradientReducer::Gradients() const {
  std::vector<at::Tensor> gradients;
  gradients.reserve(parameters_.size());
  for (const at::Tensor& parameter : parameters_) gradients.push_back(parameter.grad());
  return gradients;
}

}  // namespace gt::trainer
