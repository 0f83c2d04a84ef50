#include <ATen/ATen.h>

#include <cmath>

#include "worker/trainer/models/models.h"
#include "worker/trainer/models/recompute.h"

namespace gt::trainer {
namespace {

constexpr double kDeviation = 0.02, kNormEpsilon = 1e-5;  // GPT-2's

struct Layer {
  at::Tensor norm1_weight, norm1_bias, qkv_weight, qkv_bias, out_weight, out_bias;
  at::Tensor norm2_weight, norm2_bias, up_weight, up_bias, down_weight, down_bias;
  std::vector<at::Tensor> all() const {
    return {norm1_weight, norm1_bias, qkv_weight, qkv_bias, out_weight,  out_bias,
            norm2_weight, norm2_bias, up_weight,  up_bias,  down_weight, down_bias};
  }
};

class Gpt : public Model {
 public:
  Gpt(const ModelSpec& spec, int64_t vocabulary) : spec_(spec) {
    int64_t width = spec.width;
    tokens_ = AddNormal("wte.weight", {vocabulary, width}, kDeviation);
    positions_ = AddNormal("wpe.weight", {spec.context, width}, kDeviation);
    for (int64_t i = 0; i < spec.layers; ++i) layers_.push_back(AddLayer("h." + std::to_string(i) + "."));
    norm_weight_ = AddConstant("ln_f.weight", {width}, 1);
    norm_bias_ = AddConstant("ln_f.bias", {width}, 0);
  }

  at::Tensor Forward(const at::Tensor& inputs, bool training) override {
    at::Tensor x = at::embedding(tokens_, inputs) + positions_.narrow(0, 0, inputs.size(1));
    x = at::dropout(x, spec_.dropout, training);
    for (const Layer& layer : layers_) {
      auto block = [this, layer, training](const at::Tensor& input) { return Run(layer, input, training); };
      x = spec_.activation_checkpointing ? Recomputed(block, x, layer.all()) : block(x);
    }
    x = Norm(x, norm_weight_, norm_bias_);
    return at::linear(x, tokens_).view({-1, tokens_.size(0)});
  }

 private:
  Layer AddLayer(const std::string& prefix) {
    int64_t width = spec_.width;
    double deep = kDeviation / std::sqrt(2.0 * static_cast<double>(spec_.layers));  // what adds to the residual stream
    auto norm = [&](const char* name, double value) { return AddConstant(prefix + name, {width}, value); };
    auto bias = [&](const char* name, int64_t size) { return AddConstant(prefix + name, {size}, 0); };
    auto weight = [&](const char* name, int64_t out, int64_t in, double deviation) {
      return AddNormal(prefix + name, {out, in}, deviation);
    };
    Layer layer;
    layer.norm1_weight = norm("ln_1.weight", 1), layer.norm1_bias = norm("ln_1.bias", 0);
    layer.qkv_weight = weight("attn.c_attn.weight", 3 * width, width, kDeviation);
    layer.qkv_bias = bias("attn.c_attn.bias", 3 * width);
    layer.out_weight = weight("attn.c_proj.weight", width, width, deep);
    layer.out_bias = bias("attn.c_proj.bias", width);
    layer.norm2_weight = norm("ln_2.weight", 1), layer.norm2_bias = norm("ln_2.bias", 0);
    layer.up_weight = weight("mlp.c_fc.weight", 4 * width, width, kDeviation);
    layer.up_bias = bias("mlp.c_fc.bias", 4 * width);
    layer.down_weight = weight("mlp.c_proj.weight", width, 4 * width, deep);
    layer.down_bias = bias("mlp.c_proj.bias", width);
    return layer;
  }

  at::Tensor Norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) const {
    return at::layer_norm(x, {spec_.width}, weight, bias, kNormEpsilon);
  }

  at::Tensor Run(const Layer& layer, const at::Tensor& input, bool training) const {
    at::Tensor x = input + Attend(layer, Norm(input, layer.norm1_weight, layer.norm1_bias), training);
    at::Tensor y = at::linear(Norm(x, layer.norm2_weight, layer.norm2_bias), layer.up_weight, layer.up_bias);
    y = at::linear(at::gelu(y, "tanh"), layer.down_weight, layer.down_bias);
    return x + at::dropout(y, spec_.dropout, training);
  }

  at::Tensor Attend(const Layer& layer, const at::Tensor& x, bool training) const {
    int64_t batch = x.size(0), length = x.size(1);
    at::Tensor qkv = at::linear(x, layer.qkv_weight, layer.qkv_bias)
                         .view({batch, length, 3, spec_.heads, spec_.width / spec_.heads})
                         .permute({2, 0, 3, 1, 4});
    at::Tensor mixed = at::scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], /*attn_mask=*/{},
                                                        training ? spec_.dropout : 0.0, /*is_causal=*/true);
    at::Tensor y = at::linear(mixed.transpose(1, 2).reshape({batch, length, spec_.width}), layer.out_weight, layer.out_bias);
    return at::dropout(y, spec_.dropout, training);
  }

  ModelSpec spec_;
  at::Tensor tokens_, positions_, norm_weight_, norm_bias_;
  std::vector<Layer> layers_;
};

}  // namespace

Result<std::unique_ptr<Model>> MakeGpt(const ModelSpec& spec, const SampleShape& shape, int64_t classes) {
  if (spec.width % spec.heads != 0)
    return Status(Code::kInvalidArgument, "model.width " + std::to_string(spec.width) + " cannot be shared out to " +
                                              std::to_string(spec.heads) + " heads evenly");
  if (shape.tokens > spec.context)
    return Status(Code::kInvalidArgument, "samples of " + std::to_string(shape.tokens) +
                                              " tokens do not fit a model.context of " + std::to_string(spec.context));
  return std::unique_ptr<Model>(std::make_unique<Gpt>(spec, classes));
}

}  // namespace gt::trainer
