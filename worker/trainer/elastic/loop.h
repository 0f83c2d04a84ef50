// The life of a rank: join a generation, heal, step until the end; when a newer generation comes, do it again.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "worker/trainer/checkpoint/writer.h"
#include "worker/trainer/collective/builder.h"
#include "worker/trainer/contract/control.h"
#include "worker/trainer/ddp/stepper.h"
#include "worker/trainer/metrics/meter.h"
#include "worker/trainer/spec.h"

namespace gt::trainer {

// How a rank leaves.
enum class Leave { kFinished, kPreempted, kStopped };

// For the main thread. Everything given outlives it.
class TrainingLoop {
 public:
  struct Parts {
    const Spec* spec;
    const Environment* env;
    Control* control;
    const DataSets* data;
    TrainState* state;
    Stepper* stepper;
    CudaPlugin* cuda;  // null on CPU
    std::vector<int64_t> ready_order;
  };
  explicit TrainingLoop(Parts parts);

  // Until training is over or this rank has to go. An error is final: nothing that a new generation could repair.
  Result<Leave> Run();

 private:
  enum class End { kDone, kPreempted };  // of a generation
  Result<End> RunGeneration(const std::shared_ptr<Group>& group);
  Result<Leave> LeavePreempted();
  // Waits for what the launcher says to `finished`. nullopt: a newer generation, whose ranks need this one.
  Result<std::optional<Leave>> Finish();

  bool Done() const;
  bool EvaluationDue() const;
  Status Evaluate(Group& group);
  void OfferBest();  // of checkpoints, after an evaluation
  void AfterStep(const Group& group, const Stepper::Outcome& outcome);
  void Report(const Group& group, double loss, const char* phase);
  int64_t TotalSteps(const Group& group) const;
  Result<Stepper::Outcome> Step(GradientReducer& reducer, Group& group);
  void SayJoined();

  void OpenWriter(const Group& group);
  void StartCheckpoint();
  Status FinalCheckpoint();
  void Log(const std::string& line) const;
  void LogBench(const Group& group);

  Parts parts_;
  GroupBuilder builder_;
  std::unique_ptr<CheckpointWriter> writer_;  // rank 0, once GT_CHECKPOINT_DIR is given
  Generation generation_;
  int rank_ = 0;
  bool announced_ = false;
  bool went_on_ = true;  // in this generation, or it is the first
  Meter meter_, log_meter_;
  RateLimit progress_limit_{500};
  Millis next_checkpoint_ = 0;
  Millis bench_started_ = 0;
  std::optional<Accuracy> accuracy_;
  double last_loss_ = 0;
  int64_t begun_samples_ = 0;  // committed ones and those of a step that broke
};

}  // namespace gt::trainer
