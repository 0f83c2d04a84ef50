#include <ATen/ATen.h>

#include "worker/trainer/models/models.h"

namespace gt::trainer {
namespace {

class Mlp : public Model {
 public:
  Mlp(int64_t inputs, int64_t hidden, int64_t classes) {
    weight1_ = AddParameter("fc1.weight", {hidden, inputs}, inputs);
    bias1_ = AddParameter("fc1.bias", {hidden}, inputs);
    weight2_ = AddParameter("fc2.weight", {hidden, hidden}, hidden);
    bias2_ = AddParameter("fc2.bias", {hidden}, hidden);
    weight3_ = AddParameter("fc3.weight", {classes, hidden}, hidden);
    bias3_ = AddParameter("fc3.bias", {classes}, hidden);
  }
  at::Tensor Forward(const at::Tensor& inputs, bool) override {
    at::Tensor x = at::relu(at::linear(inputs.flatten(1), weight1_, bias1_));
    x = at::relu(at::linear(x, weight2_, bias2_));
    return at::linear(x, weight3_, bias3_);
  }

 private:
  at::Tensor weight1_, bias1_, weight2_, bias2_, weight3_, bias3_;
};

}  // namespace

Result<std::unique_ptr<Model>> MakeMlp(const ModelSpec& spec, const SampleShape& shape, int64_t classes) {
  return std::unique_ptr<Model>(std::make_unique<Mlp>(shape.numel(), spec.hidden, classes));
}

}  // namespace gt::trainer
