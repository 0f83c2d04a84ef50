// In which numbers the forward pass runs. A new precision is one file here and one line in registry.cc.
#pragma once
#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>

#include "common/base/status.h"
#include "worker/trainer/models/model.h"

namespace gt::trainer {

class Precision {
 public:
  virtual ~Precision() = default;
  // The model's logits as float.
  virtual at::Tensor Forward(Model& model, const at::Tensor& inputs, bool training) = 0;
  // Whether gradients would vanish in this type unless the loss is scaled up before the backward pass.
  virtual bool scales_loss() const { return false; }
};

Result<std::unique_ptr<Precision>> MakePrecision(const std::string& name);

}  // namespace gt::trainer
