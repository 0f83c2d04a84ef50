// Data parallelism over one group: c10d's Reducer with our rules. Gradients are summed, not averaged: the loss of each
// rank already carries its share of the step's samples, which is also right when the shares differ.
#pragma once
#include <ATen/core/Tensor.h>

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "common/base/status.h"
#include "worker/trainer/collective/group.h"

namespace c10d {
class Reducer;
}

namespace gt::trainer {

// What rides to all ranks in the gradient bucket, summed over them: no collective of its own per step.
struct StepFlags {
  at::Tensor loss;       // scalar: this rank's weighted loss, hence the step's loss after the sum
  bool preempt = false;  // after the sum: somebody wants to stop
  at::Tensor buffers;    // the model's, flat, times this rank's share of the step; hence their mean after the sum
};

// The order in which gradients become ready, from one backward pass of `run`. Buckets in that order never wait for each
// other, and rebuilding them after the first step changes nothing, so that a resumed run reduces as the first one did.
std::vector<int64_t> RecordReadyOrder(const std::vector<at::Tensor>& parameters, const std::function<void()>& run);

// For the main thread. Its gradients belong to its group: dropping it forgets them. Functions throw what c10d throws.
class GradientReducer {
 public:
  // `buffers`: how many floats StepFlags::buffers has.
  GradientReducer(std::shared_ptr<Group> group, const std::vector<at::Tensor>& parameters,
                  const std::vector<int64_t>& order, int64_t buffers);
  ~GradientReducer();

  // Before the first forward of a step: forgets the gradients of the last one.
  void BeginStep();
  // The backward pass that ends a step, with its reduction. Backward passes before it, of earlier micro-steps, run on the
  // loss itself and only accumulate.
  struct Outcome {
    double loss = 0;
    bool preempt = false;
    at::Tensor buffers;
    int64_t wait_us = 0;  // from the end of the backward pass to that of the reduction
  };
  Outcome Backward(const at::Tensor& loss, const StepFlags& flags);
  std::vector<at::Tensor> Gradients() const;  // one per parameter

 private:
  class SumHook;
  at::Tensor Attach(const at::Tensor& loss, const StepFlags& flags);

  std::shared_ptr<Group> group_;
  std::vector<at::Tensor> parameters_;
  at::Tensor flags_;        // a parameter of the Reducer only; its gradient is the flags
  at::Tensor flag_values_;  // this rank's
  std::unique_ptr<c10d::Reducer> reducer_;
  SumHook* hook_ = nullptr;  // reducer_'s
};

}  // namespace gt::trainer
