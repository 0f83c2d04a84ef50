// LibTorch's autocast as a scope: matrix products and convolutions inside run in a narrower type, weights stay as they are.
#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/DeviceType.h>

namespace gt::trainer {

// For the thread that makes it. Scopes may nest; casts of weights are remembered until the outermost ends.
class AutocastGuard {
 public:
  AutocastGuard(c10::DeviceType device, at::ScalarType type);
  ~AutocastGuard();
  AutocastGuard(const AutocastGuard&) = delete;
  AutocastGuard& operator=(const AutocastGuard&) = delete;

 private:
  c10::DeviceType device_;
  bool was_enabled_;
  at::ScalarType was_type_;
};

}  // namespace gt::trainer
