// Dynamic loss scaling for fp16, by the library's own operations. Every rank sees the same reduced gradients, hence all
// come to the same answer without asking each other.
#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

namespace gt::trainer {

// Works on memory that belongs to the training state, so that it is healed and saved with it. For the main thread.
class LossScaler {
 public:
  // Floats: the scale, steps since it last changed, steps in all whose weights did not change.
  static constexpr int64_t kNumel = 3;
  static at::Tensor InitialState();
  explicit LossScaler(at::Tensor state) : state_(std::move(state)) {}

  double scale() const;
  int64_t skipped() const;
  // Divides the gradients by the scale, and says whether all of them are finite.
  bool Unscale(const std::vector<at::Tensor>& gradients) const;
  // Ends a step: halves the scale after gradients that were not finite, doubles it after 2,000 steps that were. False: it
  // has nowhere to go, so it is not the scale that makes them infinite.
  bool Update(bool finite);
  void CountSkipped();

 private:
  at::Tensor state_;
};

}  // namespace gt::trainer
