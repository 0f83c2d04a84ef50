// One optimizer step, and one evaluation, of one rank.
#pragma once
#include <memory>

#include "common/base/status.h"
#include "worker/trainer/batch.h"
#include "worker/trainer/ddp/reducer.h"
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
  // nothing.
  std::vector<int64_t> WarmUp();

  struct Outcome {
    double loss = 0;
    bool preempt = false;    // some rank wants to leave
    int64_t samples = 0;     // over all ranks
  };
  // Collective. The optimizer step is the unit of redo: on an error the state is what it was before. kUnavailable: the
  // group broke or was aborted. kInternal: training itself failed; the loss is not finite, for example.
  Result<Outcome> Step(GradientReducer& reducer, const Group& group, bool preempt);

  // Collective: the accuracy over the whole test set, the same on all ranks.
  Result<Accuracy> Evaluate(Group& group);

 private:
  Outcome Backward(GradientReducer& reducer, const StepSlice& slice, bool preempt);
  at::Tensor Loss(const Batch& batch);
  const Permutation& OrderOf(int64_t epoch);

  const Spec* spec_;
  const DataSets* data_;
  TrainState* state_;
  Precision* precision_;
  Batcher train_batcher_, test_batcher_;
  int64_t order_epoch_ = -1;
  std::unique_ptr<Permutation> order_;
};

}  // namespace gt::trainer
