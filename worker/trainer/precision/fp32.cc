#include <ATen/ATen.h>

#include "worker/trainer/precision/precisions.h"

namespace gt::trainer {
namespace {

class Fp32 : public Precision {
 public:
  at::Tensor Forward(Model& model, const at::Tensor& inputs, bool training) override {
    return model.Forward(inputs, training);
  }
};

}  // namespace

std::unique_ptr<Precision> MakeFp32() { return std::make_unique<Fp32>(); }

}  // namespace gt::trainer
