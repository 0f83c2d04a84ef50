#include "worker/trainer/elastic/loop.h"

#include <algorithm>
#include <cstdio>

#include "worker/trainer/elastic/heal.h"

namespace gt::trainer {
namespace {

constexpr Millis kRendezvousPatience = 10 * kMinute;
constexpr Millis kFinishPatience = 5 * kSecond;

bool Never() { return false; }

}  // namespace

TrainingLoop::TrainingLoop(Parts parts) : parts_(std::move(parts)), builder_(parts_.control, parts_.env, parts_.cuda) {
  rank_ = parts_.env->rank;
}

Result<Leave> TrainingLoop::Run() {
  Control& control = *parts_.control;
  for (;;) {
    switch (control.Wait(generation_, kRendezvousPatience, Never, /*preempt_counts=*/true)) {
      case Control::Event::kRendezvous: break;
      case Control::Event::kPreempt: return LeavePreempted();
      case Control::Event::kTimeout: return Status(Code::kDeadlineExceeded, "no rendezvous came within 10 minutes");
      default: return Leave::kStopped;
    }
    Rendezvous rendezvous = *control.latest();
    generation_ = rendezvous.generation;
    rank_ = rendezvous.rank;
    Result<std::shared_ptr<Group>> group = builder_.Build(rendezvous);
    Result<End> end = group.ok() ? RunGeneration(*group) : group.status();
    if (group.ok()) builder_.Reap(std::move(group).value());
    if (end.ok() && *end == End::kPreempted) return LeavePreempted();
    if (end.ok()) {
      GT_ASSIGN_OR_RETURN(std::optional<Leave> leave, Finish());
      if (leave) return *leave;
      continue;
    }
    // Only a newer rendezvous can repair a group; without a launcher none will come.
    if (end.status().code() != Code::kUnavailable || !control.has_launcher()) return end.status();
    if (control.stopped()) return Leave::kStopped;
    if (!control.NewerThan(generation_)) {
      Log("generation " + std::to_string(generation_.value) + " is lost: " + end.status().message());
      control.Send(EncodeLost(generation_, end.status().message()));
    }
  }
}

Result<TrainingLoop::End> TrainingLoop::RunGeneration(const std::shared_ptr<Group>& group) {
  Control& control = *parts_.control;
  GT_RETURN_IF_ERROR(Heal(*group, *parts_.state));
  SayJoined();
  went_on_ = generation_.value == 1;
  Log("generation " + std::to_string(generation_.value) + ": rank " + std::to_string(rank_) + " of " +
      std::to_string(group->world_size()) + " over " + group->scheme() + ", at step " +
      std::to_string(parts_.state->counters.step));
  OpenWriter(*group);
  std::optional<GradientReducer> reducer;
  GT_RETURN_IF_ERROR(CatchTorch([&] { reducer.emplace(group, parts_.state->parameters(), parts_.ready_order, parts_.state->buffer_numel()); }));
  meter_.Restart(MonotonicNow());
  log_meter_.Restart(MonotonicNow());
  for (;;) {
    if (control.NewerThan(generation_) || control.stopped()) return Status(Code::kUnavailable, "overtaken");
    if (EvaluationDue()) {
      GT_RETURN_IF_ERROR(Evaluate(*group));
      continue;
    }
    if (Done()) break;
    GT_ASSIGN_OR_RETURN(Stepper::Outcome outcome, Step(*reducer, *group));
    AfterStep(*group, outcome);
    if (outcome.preempt && !Done()) return End::kPreempted;
  }
  LogBench(*group);
  Report(*group, last_loss_, "done");
  return End::kDone;
}

// A step that breaks is done again by the next generation, unless another rank has committed it.
Result<Stepper::Outcome> TrainingLoop::Step(GradientReducer& reducer, Group& group) {
  Result<Stepper::Outcome> outcome = parts_.stepper->Step(reducer, group, parts_.control->preempted());
  const Counters& counters = parts_.state->counters;
  begun_samples_ = counters.samples;
  if (outcome.ok()) return outcome;
  const Spec& spec = *parts_.spec;
  begun_samples_ += SliceOf(counters.cursor, parts_.data->train->size(), group.rank(), group.world_size(),
                            spec.batch_size * spec.accumulate).total();
  return outcome;
}

void TrainingLoop::SayJoined() {
  const Counters& counters = parts_.state->counters;
  parts_.control->Send(EncodeJoined(generation_, counters.step, std::max<int64_t>(0, begun_samples_ - counters.samples)));
}

bool TrainingLoop::Done() const {
  const Counters& counters = parts_.state->counters;
  return counters.cursor.epoch >= parts_.spec->epochs ||
         (parts_.spec->max_steps > 0 && counters.step >= parts_.spec->max_steps);
}

bool TrainingLoop::EvaluationDue() const {
  const Counters& counters = parts_.state->counters;
  return parts_.data->test && counters.cursor.offset == 0 && counters.evaluated_epochs < counters.cursor.epoch;
}

Status TrainingLoop::Evaluate(Group& group) {
  Counters& counters = parts_.state->counters;
  GT_ASSIGN_OR_RETURN(accuracy_, parts_.stepper->Evaluate(group));
  counters.evaluated_epochs = counters.cursor.epoch;
  if (rank_ == 0) {
    Log("epoch " + std::to_string(counters.cursor.epoch) + "/" + std::to_string(parts_.spec->epochs) + "  " +
        FormatAccuracy(accuracy_->correct, accuracy_->total));
  }
  Report(group, last_loss_, "evaluate");
  OfferBest();
  return OkStatus();
}

void TrainingLoop::OfferBest() {
  double accuracy = static_cast<double>(accuracy_->correct) / static_cast<double>(std::max<int64_t>(accuracy_->total, 1));
  if (!writer_ || !writer_->Improves(accuracy)) return;
  (void)writer_->Wait();  // its failure was said
  StartCheckpoint();
  if (Status status = writer_->OfferBest(accuracy); !status.ok())
    std::fprintf(stderr, "gt-trainer: the best checkpoint is not marked: %s\n", status.message().c_str());
}

int64_t TrainingLoop::TotalSteps(const Group& group) const {
  const Counters& counters = parts_.state->counters;
  const Spec& spec = *parts_.spec;
  int64_t total = counters.step + StepsLeft(counters.cursor, parts_.data->train->size(), spec.epochs,
                                            SamplesPerStep(spec, group.world_size()));
  return spec.max_steps > 0 ? std::min(total, spec.max_steps) : total;
}

void TrainingLoop::AfterStep(const Group& group, const Stepper::Outcome& outcome) {
  const Spec& spec = *parts_.spec;
  const Counters& counters = parts_.state->counters;
  Millis now = MonotonicNow();
  if (!std::exchange(went_on_, true)) Log("generation " + std::to_string(generation_.value) + " goes on: step " + std::to_string(counters.step) + " is done");
  last_loss_ = outcome.loss;
  meter_.Add(outcome.samples);
  log_meter_.Add(outcome.samples);
  if (counters.step == spec.bench_warmup) bench_started_ = now;
  bool epoch_ended = counters.cursor.offset == 0;
  if (counters.step % spec.log_every == 0 || epoch_ended || Done()) {
    Log(Format({.epoch = epoch_ended ? counters.cursor.epoch : counters.cursor.epoch + 1, .epochs = spec.epochs,
                .step = counters.step, .total_steps = TotalSteps(group), .loss = outcome.loss,
                .samples_per_second = log_meter_.SamplesPerSecond(now)}) +
        parts_.stepper->metrics().Note());
    parts_.stepper->metrics().Restart();
    log_meter_.Restart(now);
  }
  if (progress_limit_.Due(now)) {
    Report(group, outcome.loss, "train");
    meter_.Restart(now);
  }
  if (writer_ && spec.checkpoint.every > 0 && now >= next_checkpoint_) {
    StartCheckpoint();
    next_checkpoint_ = now + spec.checkpoint.every;
  }
}

void TrainingLoop::Report(const Group& group, double loss, const char* phase) {
  if (!parts_.control->has_launcher()) return;
  const Counters& counters = parts_.state->counters;
  Progress progress{.step = counters.step, .total_steps = TotalSteps(group), .samples = counters.samples,
                    .epoch = counters.cursor.epoch, .phase = phase};
  progress.metrics = parts_.stepper->metrics().Read();
  progress.metrics["loss"] = loss;
  progress.metrics["samples_per_second"] = meter_.SamplesPerSecond(MonotonicNow());
  if (accuracy_ && accuracy_->total > 0)
    progress.metrics["test_accuracy"] = static_cast<double>(accuracy_->correct) / static_cast<double>(accuracy_->total);
  parts_.control->SendProgress(progress);
}

void TrainingLoop::OpenWriter(const Group& group) {
  const Environment& env = *parts_.env;
  if (group.rank() != 0 || writer_) return;
  if (env.checkpoint_dir.empty()) {
    if (!announced_) Log("GT_CHECKPOINT_DIR is not set: no checkpoints");
    announced_ = true;
    return;
  }
  auto on_done = [this](const CheckpointWriter::Done& done) {
    Log("checkpoint of step " + std::to_string(done.step) + ": " + done.path);
    parts_.control->Send(EncodeCheckpoint(done.step, done.path, done.bytes));
  };
  auto on_error = [this](const Status& status) {
    std::fprintf(stderr, "gt-trainer: checkpoint not written: %s\n", status.message().c_str());
  };
  writer_ = std::make_unique<CheckpointWriter>(env.checkpoint_dir + "/" + env.attempt_uid, parts_.spec->checkpoint, on_done,
                                               on_error);
  next_checkpoint_ = MonotonicNow() + parts_.spec->checkpoint.every;
}

void TrainingLoop::StartCheckpoint() {
  const Counters& counters = parts_.state->counters;
  const Spec& spec = *parts_.spec;
  writer_->Start(*parts_.state, {.attempt_uid = parts_.env->attempt_uid,
                                 .generation = generation_.value,
                                 .step = counters.step,
                                 .cursor = counters.cursor,
                                 .samples = counters.samples,
                                 .evaluated_epochs = counters.evaluated_epochs,
                                 .seed = spec.seed,
                                 .model = spec.model.name,
                                 .optimizer = spec.optimizer.name});
}

Status TrainingLoop::FinalCheckpoint() {
  if (!writer_ || rank_ != 0) return OkStatus();
  Status earlier = writer_->Wait();  // its failure was said; only the last one counts
  if (writer_->last_step() == parts_.state->counters.step && earlier.ok()) return OkStatus();
  StartCheckpoint();
  return writer_->Wait().WithContext("the last checkpoint could not be written");
}

Result<Leave> TrainingLoop::LeavePreempted() {
  GT_RETURN_IF_ERROR(FinalCheckpoint());
  Log("leaving at step " + std::to_string(parts_.state->counters.step) + " because this rank is wanted gone");
  return Leave::kPreempted;
}

Result<std::optional<Leave>> TrainingLoop::Finish() {
  Control& control = *parts_.control;
  GT_RETURN_IF_ERROR(FinalCheckpoint());
  if (rank_ == 0 && accuracy_) std::printf("%s\n", FormatAccuracy(accuracy_->correct, accuracy_->total).c_str());
  if (!control.has_launcher()) return std::optional<Leave>(Leave::kFinished);
  control.MarkFinished(true);
  control.Send(EncodeFinished(parts_.state->counters.step));
  if (control.Wait(generation_, kFinishPatience, Never, /*preempt_counts=*/false) != Control::Event::kRendezvous)
    return std::optional<Leave>(Leave::kFinished);
  control.MarkFinished(false);  // a peer died before its end, and needs this rank for it
  return std::optional<Leave>();
}

void TrainingLoop::LogBench(const Group& group) {
  const Spec& spec = *parts_.spec;
  int64_t steps = parts_.state->counters.step - spec.bench_warmup;
  if (spec.bench_warmup < 0 || rank_ != 0 || steps <= 0 || bench_started_ == 0) return;
  std::printf("bench: %.3f ms/step over %lld steps, world %d, %s\n",
              static_cast<double>(MonotonicNow() - bench_started_) / static_cast<double>(steps),
              static_cast<long long>(steps), group.world_size(), group.scheme().c_str());
}

// Who prints it is for the reader to add: every launcher and gtctl does.
void TrainingLoop::Log(const std::string& line) const { std::printf("%s\n", line.c_str()); }

}  // namespace gt::trainer
