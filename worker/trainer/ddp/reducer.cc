#include "worker/trainer/ddp/reducer.h"

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/reducer.hpp>

namespace gt::trainer {
namespace {

constexpr int64_t kFirstBucketBytes = 1 << 20, kBucketBytes = 25 << 20;
constexpr int64_t kLossFlag = 0, kPreemptFlag = 1, kFlagCount = 2;

class SumHook : public c10d::CommHookInterface {
 public:
  explicit SumHook(c10::intrusive_ptr<AbortableBackend> backend) : backend_(std::move(backend)) {}
  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override {
    std::vector<at::Tensor> tensors{bucket.getBufferRef()};
    return backend_->allreduce(tensors, c10d::AllreduceOptions())->getFuture();
  }
  at::Tensor parseHookResult(const c10::IValue& result) override {
    return result.isTensorList() ? result.toTensorVector()[0] : result.toTensor();
  }

 private:
  c10::intrusive_ptr<AbortableBackend> backend_;
};

}  // namespace

std::vector<int64_t> RecordReadyOrder(const std::vector<at::Tensor>& parameters, const std::function<void()>& run) {
  std::vector<int64_t> order;
  std::vector<unsigned> hooks;
  for (size_t i = 0; i < parameters.size(); ++i)
    hooks.push_back(
        parameters[i].register_hook([&order, i](const at::Tensor&) { order.push_back(static_cast<int64_t>(i)); }));
  run();
  for (size_t i = 0; i < parameters.size(); ++i) {
    parameters[i].remove_hook(hooks[i]);
    parameters[i].mutable_grad() = at::Tensor();
  }
  return order;
}

GradientReducer::GradientReducer(std::shared_ptr<Group> group, const std::vector<at::Tensor>& parameters,
                                 const std::vector<int64_t>& order)
    : group_(std::move(group)), parameters_(parameters) {
  flags_ = at::zeros({kFlagCount}, parameters_.at(0).options().requires_grad(false));
  flags_.set_requires_grad(true);
  flag_values_ = at::zeros({kFlagCount}, flags_.options());

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
  reducer_->register_comm_hook(std::make_unique<SumHook>(group_->backend()));
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
  }
  reducer_->prepare_for_backward({});
  return loss + at::dot(flags_, flag_values_);  // adds zero, whose gradient for flags_ is flag_values_
}

GradientReducer::Outcome GradientReducer::outcome() const {
  at::Tensor sums = flags_.grad().to(at::kCPU);
  const float* values = sums.const_data_ptr<float>();
  return {.loss = values[kLossFlag], .preempt = values[kPreemptFlag] > 0};
}

std::vector<at::Tensor> GradientReducer::Gradients() const {
  std::vector<at::Tensor> gradients;
  gradients.reserve(parameters_.size());
  for (const at::Tensor& parameter : parameters_) gradients.push_back(parameter.grad());
  return gradients;
}

}  // namespace gt::trainer
