// One optimizer step, and one evaluation, of one rank.
#pragma once
#include <memory>
#include <optional>

#include "common/base/status.h"
#include "worker/trainer/batch.h"
#include "worker/trainer/data/loader.h"
#include "worker/trainer/ddp/reducer.h"
#include "worker/trainer/metrics/board.h"
#include "worker/trainer/metrics/step_metrics.h"
#include "worker/trainer/precision/loss_scaler.h"
#include "worker/trainer/precision/precision.h"
#include "worker/trainer/spec.h"
#include "worker/trainer/state.h"

namespace gt::trainer {

struct Accuracy {
  int64_t correct = 0, total = 0;
};

// For the main thread. Everything that it points to outlives it.
class Stepper {
 public:
  Stepper(const Spec* spec, const DataSets* data, TrainState* state, Precision* precision, at::Device device);

  // One backward pass on a few samples, to learn the order of gradients and to touch every code path once. Changes
  // nothing. kDataLoss: the data is not what it should be. Throws what LibTorch throws.
  Result<std::vector<int64_t>> WarmUp();

  struct Outcome {
    double loss = 0;
    bool preempt = false;    // some rank wants to leave
    int64_t samples = 0;     // over all ranks
  };
  // Collective. The optimizer step is the unit of redo: on an error the state is what it was before. kUnavailable: the
  // group broke or was aborted. kDataLoss: the data is bad. kResourceExhausted: out of memory. kInternal: training itself
  // failed; the loss is not finite, for example. A step that is skipped is a step, and its samples count as seen.
  Result<Outcome> Step(GradientReducer& reducer, const Group& group, bool preempt);

  // Collective: the accuracy over the whole test set, the same on all ranks.
  Result<Accuracy> Evaluate(Group& group);

  // What steps have measured since the last Restart of it.
  StepMetrics& metrics() { return metrics_; }

 private:
  // A step between its backward pass and its commit.
  struct Pending {
    StepSlice slice;
    GradientReducer::Outcome reduced;
    StepMeasure measure;
  };
  Status Backward(GradientReducer& reducer, Pending* step, bool preempt);
  at::Tensor Loss(const Batch& batch);
  // Whether the optimizer may use the gradients, which it unscales and clips; false: the step is to be skipped. An error
  // ends training.
  Result<bool> Judge(const std::vector<at::Tensor>& gradients, Pending* step);
  // From here on nothing may fail.
  void Commit(const std::vector<at::Tensor>& gradients, bool apply, const Pending& step);
  Status ReadInOrder(const Dataset& dataset, Range range, Batch* batch);
  ReadingPlan PlanFor(const Group& group) const;
  bool MeasuresNorm() const;

  const Spec* spec_;
  const DataSets* data_;
  TrainState* state_;
  Precision* precision_;
  const at::Device device_;
  Loader loader_;
  HostBatch host_;  // of what is read in order
  std::optional<LossScaler> scaler_;
  int64_t skipped_in_a_row_ = 0;
  double last_loss_ = 0;
  StepMetrics metrics_;
  Board board_;
};

}  // namespace gt::trainer
