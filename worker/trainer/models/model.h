// What a model is: named parameters and buffers in one flat memory each, and a forward function of ATen operations. A
// new model is one file here and one line in registry.cc.
#pragma once
#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "worker/trainer/data/dataset.h"
#include "worker/trainer/spec.h"

namespace gt::trainer {

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

// Used by one thread.
class Model {
 public:
  virtual ~Model() = default;
  // inputs: images [batch, channels, height, width], the answer logits [batch, classes]; or token ids [batch, tokens] and
  // logits [batch * tokens, classes]. `training` switches dropout and the like.
  virtual at::Tensor Forward(const at::Tensor& inputs, bool training) = 0;

  const std::vector<NamedTensor>& parameters() const { return parameters_; }  // in the order of registration
  const std::vector<NamedTensor>& buffers() const { return buffers_; }  // state without gradient, e.g. running means
  int64_t parameter_count() const;

 protected:
  // Weights and biases as PyTorch's layers draw them: uniform in +-1/sqrt(fan_in), from the default generator.
  at::Tensor AddParameter(const std::string& name, at::IntArrayRef sizes, int64_t fan_in);
  // From a normal distribution around 0.
  at::Tensor AddNormal(const std::string& name, at::IntArrayRef sizes, double deviation);
  at::Tensor AddConstant(const std::string& name, at::IntArrayRef sizes, double value);
  at::Tensor AddBuffer(const std::string& name, const at::Tensor& value);

 private:
  at::Tensor Keep(const std::string& name, at::Tensor tensor);
  std::vector<NamedTensor> parameters_, buffers_;
};

// Makes the model that the spec names, its initial values drawn from `seed`.
Result<std::unique_ptr<Model>> MakeModel(const ModelSpec& spec, const SampleShape& shape, int64_t classes,
                                         uint64_t seed);

}  // namespace gt::trainer
