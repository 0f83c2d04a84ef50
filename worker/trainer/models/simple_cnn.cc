#include <ATen/ATen.h>

#include "worker/trainer/models/layout.h"
#include "worker/trainer/models/models.h"
#include "worker/trainer/models/pool_relu.h"

namespace gt::trainer {
namespace {

class SimpleCnn : public Model {
 public:
  SimpleCnn(const SampleShape& shape, int64_t classes) {
    int64_t c = shape.channels, flat = 64 * (shape.height / 4) * (shape.width / 4);
    conv1_weight_ = AddParameter("conv1.weight", {32, c, 3, 3}, c * 9);
    conv1_bias_ = AddParameter("conv1.bias", {32}, c * 9);
    conv2_weight_ = AddParameter("conv2.weight", {64, 32, 3, 3}, 32 * 9);
    conv2_bias_ = AddParameter("conv2.bias", {64}, 32 * 9);
    fc1_weight_ = AddParameter("fc1.weight", {128, flat}, flat);
    fc1_bias_ = AddParameter("fc1.bias", {128}, flat);
    fc2_weight_ = AddParameter("fc2.weight", {classes, 128}, 128);
    fc2_bias_ = AddParameter("fc2.bias", {classes}, 128);
  }
  at::Tensor Forward(const at::Tensor& inputs, bool) override {
    at::Tensor x = PoolRelu(at::conv2d(ChannelsLast(inputs), Plain(conv1_weight_), conv1_bias_, 1, 1));
    x = PoolRelu(at::conv2d(x, Plain(conv2_weight_), conv2_bias_, 1, 1));
    x = at::relu(at::linear(x.flatten(1), fc1_weight_, fc1_bias_));
    return at::linear(x, fc2_weight_, fc2_bias_);
  }

 private:
  at::Tensor conv1_weight_, conv1_bias_, conv2_weight_, conv2_bias_, fc1_weight_, fc1_bias_, fc2_weight_, fc2_bias_;
};

}  // namespace

Result<std::unique_ptr<Model>> MakeSimpleCnn(const ModelSpec&, const SampleShape& shape, int64_t classes) {
  if (shape.height < 4 || shape.width < 4)
    return Status(Code::kInvalidArgument, "model simple_cnn needs images of at least 4 x 4 pixels");
  return std::unique_ptr<Model>(std::make_unique<SimpleCnn>(shape, classes));
}

}  // namespace gt::trainer
