#include <ATen/ATen.h>

#include <cmath>

#include "worker/trainer/models/layout.h"
#include "worker/trainer/models/models.h"
#include "worker/trainer/models/recompute.h"

namespace gt::trainer {
namespace {

constexpr double kMomentum = 0.1, kEpsilon = 1e-5;  // those of PyTorch's BatchNorm2d

struct Norm {
  at::Tensor weight, bias, mean, variance;
};
struct Convolution {
  at::Tensor weight;
  Norm norm;
  int64_t stride = 1, padding = 0;
};
struct Block {
  Convolution first, second, shortcut;  // shortcut: without weight where the input passes as it is
  std::vector<at::Tensor> parameters() const {
    std::vector<at::Tensor> all;
    for (const Convolution* part : {&first, &second, &shortcut})
      if (part->weight.defined()) all.insert(all.end(), {part->weight, part->norm.weight, part->norm.bias});
    return all;
  }
};

at::Tensor Normalize(const Norm& norm, const at::Tensor& x, bool training) {
  // One value per channel has no variance to learn, and a second run has learned already.
  bool learn = training && !IsRecomputing() && x.numel() > x.size(1);
  bool given = learn || !training;
  return at::batch_norm(x, norm.weight, norm.bias, given ? norm.mean : at::Tensor(),
                        given ? norm.variance : at::Tensor(), training, kMomentum, kEpsilon, /*cudnn_enabled=*/true);
}

at::Tensor Run(const Convolution& part, const at::Tensor& x, bool training) {
  at::Tensor y = at::conv2d(x, Plain(part.weight), {}, part.stride, part.padding);
  return Normalize(part.norm, y, training);
}

at::Tensor Run(const Block& block, const at::Tensor& x, bool training) {
  at::Tensor y = at::relu(Run(block.first, x, training));
  y = Run(block.second, y, training);
  at::Tensor passed = block.shortcut.weight.defined() ? Run(block.shortcut, x, training) : x;
  return at::relu(y + passed);
}

class Resnet18 : public Model {
 public:
  Resnet18(const ModelSpec& spec, const SampleShape& shape, int64_t classes)
      : recompute_(spec.activation_checkpointing) {
    stem_ = Add("conv1", "bn1", shape.channels, 64, 7, 2);
    int64_t in = 64;
    for (int64_t stage = 1; stage <= 4; ++stage) {
      int64_t out = 32 << stage, stride = stage == 1 ? 1 : 2;
      for (int64_t i = 0; i < 2; ++i) {
        std::string prefix = "layer" + std::to_string(stage) + "." + std::to_string(i) + ".";
        blocks_.push_back(AddBlock(prefix, in, out, i == 0 ? stride : 1));
        in = out;
      }
    }
    weight_ = AddParameter("fc.weight", {classes, 512}, 512);
    bias_ = AddParameter("fc.bias", {classes}, 512);
  }

  at::Tensor Forward(const at::Tensor& inputs, bool training) override {
    at::Tensor x = at::relu(Run(stem_, ChannelsLast(inputs), training));
    x = at::max_pool2d(x, 3, 2, 1);
    for (const Block& block : blocks_) {
      auto run = [block, training](const at::Tensor& input) { return Run(block, input, training); };
      x = recompute_ && training ? Recomputed(run, x, block.parameters()) : run(x);
    }
    return at::linear(x.mean({2, 3}), weight_, bias_);
  }

 private:
  Convolution Add(const std::string& name, const std::string& norm, int64_t in, int64_t out, int64_t kernel,
                  int64_t stride) {
    // Kaiming's normal distribution by fan-out, for ReLU.
    double deviation = std::sqrt(2.0 / static_cast<double>(kernel * kernel * out));
    Convolution part{.stride = stride, .padding = kernel / 2};
    part.weight = AddNormal(name + ".weight", {out, in, kernel, kernel}, deviation);
    part.norm.weight = AddConstant(norm + ".weight", {out}, 1);
    part.norm.bias = AddConstant(norm + ".bias", {out}, 0);
    part.norm.mean = AddBuffer(norm + ".running_mean", at::zeros({out}, at::kFloat));
    part.norm.variance = AddBuffer(norm + ".running_var", at::ones({out}, at::kFloat));
    return part;
  }
  Block AddBlock(const std::string& prefix, int64_t in, int64_t out, int64_t stride) {
    Block block;
    block.first = Add(prefix + "conv1", prefix + "bn1", in, out, 3, stride);
    block.second = Add(prefix + "conv2", prefix + "bn2", out, out, 3, 1);
    if (in != out) block.shortcut = Add(prefix + "downsample.0", prefix + "downsample.1", in, out, 1, stride);
    return block;
  }

  bool recompute_;
  Convolution stem_;
  std::vector<Block> blocks_;
  at::Tensor weight_, bias_;
};

}  // namespace

Result<std::unique_ptr<Model>> MakeResnet18(const ModelSpec& spec, const SampleShape& shape, int64_t classes) {
  return std::unique_ptr<Model>(std::make_unique<Resnet18>(spec, shape, classes));
}

}  // namespace gt::trainer
