#include "worker/trainer/ddp/stepper.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <cmath>

namespace gt::trainer {
namespace {

constexpr int64_t kWarmUpSamples = 4, kEvaluationBatch = 250;

// Randomness inside a step (dropout) is a function of who and when, so that a redone or resumed step draws the same.
void SeedStep(uint64_t seed, int64_t step, int rank) {
  Rng rng(seed ^ static_cast<uint64_t>(step) << 20 ^ static_cast<uint64_t>(rank));
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  std::lock_guard lock(generator.mutex());
  generator.set_current_seed(rng.Next());
}

std::vector<at::Tensor> CopyBuffers(const Model& model) {
  std::vector<at::Tensor> copies;
  for (const NamedTensor& buffer : model.buffers()) copies.push_back(buffer.tensor.detach().clone());
  return copies;
}

void RestoreBuffers(const Model& model, const std::vector<at::Tensor>& copies) {
  at::NoGradGuard no_grad;
  for (size_t i = 0; i < copies.size(); ++i) model.buffers()[i].tensor.copy_(copies[i]);
}

}  // namespace

Stepper::Stepper(const Spec* spec, const DataSets* data, TrainState* state, Precision* precision, at::Device device)
    : spec_(spec), data_(data), state_(state), precision_(precision), train_batcher_(data->train.get(), device),
      test_batcher_(data->test.get(), device) {}

const Permutation& Stepper::OrderOf(int64_t epoch) {
  if (order_epoch_ != epoch) {
    order_ = std::make_unique<Permutation>(spec_->seed, epoch, data_->train->size());
    order_epoch_ = epoch;
  }
  return *order_;
}

at::Tensor Stepper::Loss(const Batch& batch) {
  return at::cross_entropy_loss(precision_->Forward(state_->model(), batch.inputs, /*training=*/true), batch.labels);
}

std::vector<int64_t> Stepper::WarmUp() {
  std::vector<at::Tensor> buffers = CopyBuffers(state_->model());
  Batch batch = train_batcher_.InOrder({0, std::min(kWarmUpSamples, data_->train->size())});
  std::vector<int64_t> order = RecordReadyOrder(state_->parameters(), [&] { Loss(batch).backward(); });
  RestoreBuffers(state_->model(), buffers);
  return order;
}

Stepper::Outcome Stepper::Backward(GradientReducer& reducer, const StepSlice& slice, bool preempt) {
  const Permutation& order = OrderOf(state_->counters.cursor.epoch);
  double total = static_cast<double>(slice.total());
  at::Tensor sum;
  reducer.BeginStep();
  for (int64_t first = slice.first;;) {
    int64_t last = std::min(slice.last, first + spec_->batch_size);
    // A rank without samples of its own takes part with one that weighs nothing.
    Range range = slice.mine() > 0 ? Range{first, last} : Range{slice.begin, slice.begin + 1};
    at::Tensor loss = Loss(train_batcher_.Shuffled(order, range));
    double weight = slice.mine() > 0 ? static_cast<double>(last - first) / total : 0;
    if (weight != 1) loss = loss * weight;
    sum = sum.defined() ? sum + loss.detach() : loss.detach();
    if (last >= slice.last) {
      reducer.Attach(loss, {.loss = sum, .preempt = preempt}).backward();
      break;
    }
    loss.backward();
    first = last;
  }
  GradientReducer::Outcome outcome = reducer.outcome();
  return {.loss = outcome.loss, .preempt = outcome.preempt, .samples = slice.total()};
}

Result<Stepper::Outcome> Stepper::Step(GradientReducer& reducer, const Group& group, bool preempt) {
  Counters& counters = state_->counters;
  int64_t size = data_->train->size();
  StepSlice slice =
      SliceOf(counters.cursor, size, group.rank(), group.world_size(), spec_->batch_size * spec_->accumulate);
  std::vector<at::Tensor> buffers = CopyBuffers(state_->model());
  SeedStep(spec_->seed, counters.step, group.rank());
  Outcome outcome;
  Status status = CatchTorch([&] { outcome = Backward(reducer, slice, preempt); });
  if (status.ok() && !std::isfinite(outcome.loss)) {
    status = Status(Code::kInternal, "the loss is not a finite number at step " + std::to_string(counters.step + 1) +
                                         "; try a lower optimizer.lr");
  }
  if (!status.ok()) {
    RestoreBuffers(state_->model(), buffers);
    return status;
  }
  // The commit: from here on nothing may fail.
  state_->optimizer().Step(reducer.Gradients(), counters.step + 1);
  counters.step += 1;
  counters.samples += slice.total();
  counters.cursor = Advance(counters.cursor, slice, size);
  return outcome;
}

Result<Accuracy> Stepper::Evaluate(Group& group) {
  at::NoGradGuard no_grad;
  Range share = ShareOf(data_->test->size(), group.rank(), group.world_size());
  at::Tensor counts = at::zeros({2}, at::kLong);
  Status status = CatchTorch([&] {
    for (int64_t first = share.first; first < share.last; first += kEvaluationBatch) {
      Batch batch = test_batcher_.InOrder({first, std::min(share.last, first + kEvaluationBatch)});
      at::Tensor logits = precision_->Forward(state_->model(), batch.inputs, /*training=*/false);
      counts[0] += logits.argmax(1).eq(batch.labels).sum().cpu();
    }
    counts[1] += share.last - share.first;
  });
  GT_RETURN_IF_ERROR(status);
  GT_RETURN_IF_ERROR(group.AllReduceSum(counts));
  const int64_t* values = counts.const_data_ptr<int64_t>();
  return Accuracy{.correct = values[0], .total = values[1]};
}

}  // namespace gt::trainer
