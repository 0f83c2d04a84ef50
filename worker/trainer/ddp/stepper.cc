#include "worker/trainer/ddp/stepper.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "worker/trainer/ddp/diagnosis.h"
#include "worker/trainer/metrics/meter.h"
#include "worker/trainer/optim/clip.h"
#include "worker/trainer/schedule/schedule.h"

namespace gt::trainer {
namespace {

constexpr int64_t kWarmUpSamples = 4, kEvaluationBatch = 250;
constexpr int64_t kMostSkips = 100;  // in a row: what does not come back by then never will

// Randomness inside a step (dropout) is a function of who and when, so that a redone or resumed step draws the same.
void SeedStep(uint64_t seed, int64_t step, int rank) {
  Rng rng(seed ^ static_cast<uint64_t>(step) << 20 ^ static_cast<uint64_t>(rank));
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  std::lock_guard lock(generator.mutex());
  generator.set_current_seed(rng.Next());
}

std::string EnvironmentOf(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

int64_t PrefetchOf(const Spec& spec, const Dataset& dataset) {
  return spec.data.prefetch >= 0 ? spec.data.prefetch : dataset.prefetch();
}

}  // namespace

Stepper::Stepper(const Spec* spec, const DataSets* data, TrainState* state, Precision* precision, at::Device device)
    : spec_(spec), data_(data), state_(state), precision_(precision), device_(device),
      loader_(data->train.get(), spec->seed, PrefetchOf(*spec, *data->train), spec->data.readers),
      board_(BoardFolder(spec->tensorboard, EnvironmentOf)) {
  if (state->scaler().defined()) scaler_.emplace(state->scaler());
}

at::Tensor Stepper::Loss(const Batch& batch) {
  return at::cross_entropy_loss(precision_->Forward(state_->model(), batch.inputs, /*training=*/true), batch.labels);
}

Status Stepper::ReadInOrder(const Dataset& dataset, Range range, Batch* batch) {
  std::vector<int64_t> indices(static_cast<size_t>(range.last - range.first));
  std::iota(indices.begin(), indices.end(), range.first);
  GT_RETURN_IF_ERROR(host_.Read(dataset, indices));
  *batch = ToBatch(host_, device_);
  return OkStatus();
}

Result<std::vector<int64_t>> Stepper::WarmUp() {
  at::Tensor buffers = state_->CopyBuffers();
  Batch batch;
  GT_RETURN_IF_ERROR(ReadInOrder(*data_->train, {0, std::min(kWarmUpSamples, data_->train->size())}, &batch));
  std::vector<int64_t> order = RecordReadyOrder(state_->parameters(), [&] { Loss(batch).backward(); });
  state_->SetBuffers(buffers);
  return order;
}

ReadingPlan Stepper::PlanFor(const Group& group) const {
  return {.cursor = state_->counters.cursor,
          .dataset_size = data_->train->size(),
          .rank = group.rank(),
          .world_size = group.world_size(),
          .samples_per_step = SamplesPerStep(*spec_, group.world_size()),
          .batch_size = spec_->batch_size};
}

Status Stepper::Backward(GradientReducer& reducer, Pending* step, bool preempt) {
  size_t parts = MicroBatchesOf(state_->counters.cursor.epoch, step->slice, spec_->batch_size).size();
  double scale = precision_->scales_loss() ? scaler_->scale() : 1;
  at::Tensor sum;
  reducer.BeginStep();
  for (size_t part = 0; part < parts; ++part) {
    GT_ASSIGN_OR_RETURN(Loader::Taken taken, loader_.Take());
    at::Tensor loss = Loss(ToBatch(*taken.batch, device_));
    if (taken.what.weight != 1) loss = loss * taken.what.weight;
    sum = sum.defined() ? sum + loss.detach() : loss.detach();
    if (scale != 1) loss = loss * scale;
    if (part + 1 < parts) {
      loss.backward();
      continue;
    }
    StepFlags flags{.loss = sum, .preempt = preempt};
    double share = static_cast<double>(step->slice.mine()) / static_cast<double>(step->slice.total());
    // A rank without samples adds zeros, not its buffers times zero: those may be infinite.
    if (at::Tensor buffers = state_->CopyBuffers(); buffers.defined())
      flags.buffers = share > 0 ? buffers * share : at::zeros_like(buffers);
    step->reduced = reducer.Backward(loss, flags);
  }
  return OkStatus();
}

Result<Stepper::Outcome> Stepper::Step(GradientReducer& reducer, const Group& group, bool preempt) {
  int64_t started = MonotonicMicros(), waited = loader_.waited_us(), number = state_->counters.step + 1;
  ReadingPlan plan = PlanFor(group);
  loader_.Follow(plan);
  Pending step{.slice = plan.slice()};
  step.measure.learning_rate =
      LearningRate(spec_->optimizer, {.before = state_->counters.samples,
                                      .after = state_->counters.samples + step.slice.total(),
                                      .total = spec_->epochs * data_->train->size()});
  at::Tensor buffers = state_->CopyBuffers();
  SeedStep(spec_->seed, state_->counters.step, group.rank());
  std::vector<at::Tensor> gradients;
  bool apply = false;
  Status read, judged;
  Status status = CatchTorch([&] {
    read = Backward(reducer, &step, preempt);
    if (!read.ok()) return;
    gradients = reducer.Gradients();
    Result<bool> verdict = Judge(gradients, &step);
    judged = verdict.status();
    apply = verdict.ok() && *verdict;
  });
  for (const Status* part : {&read, &judged})
    if (status.ok()) status = *part;
  if (!status.ok() || !apply) state_->SetBuffers(buffers);
  if (!status.ok()) return ExplainFailure(*spec_, number, ReadProcessMemory(), status);

  step.measure.loss = step.reduced.loss;
  step.measure.samples = step.slice.total();
  step.measure.communication_wait_us = step.reduced.wait_us;
  step.measure.data_wait_us = loader_.waited_us() - waited;
  step.measure.skipped = !apply;
  Commit(gradients, apply, step);
  step.measure.step_us = MonotonicMicros() - started;
  metrics_.Add(step.measure);
  if (group.rank() == 0 && board_.Due(MonotonicNow())) board_.Add(number, metrics_.Read());
  return Outcome{.loss = step.reduced.loss, .preempt = step.reduced.preempt, .samples = step.slice.total()};
}

bool Stepper::MeasuresNorm() const {
  return spec_->optimizer.clip_norm > 0 || spec_->on_nan != "stop" ||
         (state_->counters.step + 1) % spec_->log_every == 0;
}

Result<bool> Stepper::Judge(const std::vector<at::Tensor>& gradients, Pending* step) {
  StepMeasure& measure = step->measure;
  bool finite = true;
  if (precision_->scales_loss()) {
    measure.loss_scale = scaler_->scale();
    finite = scaler_->Unscale(gradients) && std::isfinite(step->reduced.loss);
    bool usable = scaler_->Update(finite);
    if (!finite && usable) return false;  // the scale was too high, and is lower now
  }
  if (MeasuresNorm() || !finite) measure.gradient_norm = GradientNorm(gradients);
  finite = finite && std::isfinite(step->reduced.loss) && std::isfinite(measure.gradient_norm.value_or(0));
  if (finite) {
    ClipGradients(gradients, measure.gradient_norm.value_or(0), spec_->optimizer.clip_norm);
    return true;
  }
  if (spec_->on_nan == "skip" && skipped_in_a_row_ < kMostSkips) return false;
  return ExplainBadNumbers(*spec_, {.step = state_->counters.step + 1,
                                    .loss = step->reduced.loss,
                                    .gradient_norm = measure.gradient_norm,
                                    .last_loss = last_loss_,
                                    .learning_rate = measure.learning_rate,
                                    .skipped_in_a_row = skipped_in_a_row_});
}

void Stepper::Commit(const std::vector<at::Tensor>& gradients, bool apply, const Pending& step) {
  Counters& counters = state_->counters;
  int64_t skipped = scaler_ ? scaler_->skipped() : 0;
  if (apply) {
    state_->optimizer().Step(gradients, counters.step + 1 - skipped, step.measure.learning_rate);
    state_->SetBuffers(step.reduced.buffers);
    skipped_in_a_row_ = 0;
    last_loss_ = step.reduced.loss;
  } else {
    scaler_->CountSkipped();
    skipped_in_a_row_ += 1;
  }
  counters.step += 1;
  counters.samples += step.slice.total();
  counters.cursor = Advance(counters.cursor, step.slice, data_->train->size());
}

Result<Accuracy> Stepper::Evaluate(Group& group) {
  at::NoGradGuard no_grad;
  const Dataset& test = *data_->test;
  Range share = ShareOf(test.size(), group.rank(), group.world_size());
  int64_t most = test.shape().is_text() ? std::min(kEvaluationBatch, spec_->batch_size) : kEvaluationBatch;
  at::Tensor counts = at::zeros({2}, at::kLong);
  Status read;
  Status status = CatchTorch([&] {
    for (int64_t first = share.first; first < share.last && read.ok(); first += most) {
      Batch batch;
      read = ReadInOrder(test, {first, std::min(share.last, first + most)}, &batch);
      if (!read.ok()) return;
      at::Tensor logits = precision_->Forward(state_->model(), batch.inputs, /*training=*/false);
      counts[0] += logits.argmax(1).eq(batch.labels).sum().cpu();
    }
    counts[1] += (share.last - share.first) * test.shape().labels();
  });
  GT_RETURN_IF_ERROR(status);
  GT_RETURN_IF_ERROR(read);
  GT_RETURN_IF_ERROR(group.AllReduceSum(counts));
  const int64_t* values = counts.const_data_ptr<int64_t>();
  Accuracy accuracy{.correct = values[0], .total = values[1]};
  if (group.rank() == 0 && accuracy.total > 0)
    board_.Add(state_->counters.step,
               {{"test_accuracy", static_cast<double>(accuracy.correct) / static_cast<double>(accuracy.total)}});
  return accuracy;
}

}  // namespace gt::trainer
