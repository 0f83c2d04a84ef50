#include "worker/trainer/models/model.h"

#include <ATen/ATen.h>

#include <cmath>

namespace gt::trainer {

int64_t Model::parameter_count() const {
  int64_t count = 0;
  for (const NamedTensor& parameter : parameters_) count += parameter.tensor.numel();
  return count;
}

at::Tensor Model::AddParameter(const std::string& name, at::IntArrayRef sizes, int64_t fan_in) {
  double bound = 1.0 / std::sqrt(static_cast<double>(fan_in));
  return Keep(name, at::empty(sizes, at::kFloat).uniform_(-bound, bound));
}

at::Tensor Model::AddNormal(const std::string& name, at::IntArrayRef sizes, double deviation) {
  return Keep(name, at::empty(sizes, at::kFloat).normal_(0, deviation));
}

at::Tensor Model::AddConstant(const std::string& name, at::IntArrayRef sizes, double value) {
  return Keep(name, at::full(sizes, value, at::kFloat));
}

at::Tensor Model::Keep(const std::string& name, at::Tensor tensor) {
  tensor.set_requires_grad(true);
  parameters_.push_back({name, tensor});
  return tensor;
}

at::Tensor Model::AddBuffer(const std::string& name, const at::Tensor& value) {
  buffers_.push_back({name, value});
  return value;
}

}  // namespace gt::trainer
