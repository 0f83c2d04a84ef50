#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "worker/trainer/ddp/reducer.h"
#include "worker/trainer/models/model.h"
#include "worker/trainer/models/pool_relu.h"
#include "worker/trainer/state.h"

namespace gt::trainer {
namespace {

std::unique_ptr<Model> Make(const std::string& name, uint64_t seed = 0, int64_t hidden = 128) {
  return MakeModel({.name = name, .hidden = hidden}, {1, 28, 28}, 10, seed).value();
}

TEST(Models, HaveTheirKnownSizes) {
  EXPECT_EQ(Make("simple_cnn")->parameter_count(), 421642);
  EXPECT_EQ(Make("mlp")->parameter_count(), 784 * 128 + 128 + 128 * 128 + 128 + 128 * 10 + 10);
  EXPECT_EQ(Make("mlp", 0, 32)->parameter_count(), 784 * 32 + 32 + 32 * 32 + 32 + 32 * 10 + 10);
}

TEST(Models, AnswerOneLogitPerClass) {
  for (const char* name : {"simple_cnn", "mlp"})
    EXPECT_EQ(Make(name)->Forward(at::zeros({3, 1, 28, 28}), false).sizes(), at::IntArrayRef({3, 10}));
}

TEST(Models, AreDrawnFromTheSeedAlone) {
  auto first = [](uint64_t seed) { return Make("mlp", seed)->parameters()[0].tensor.detach().clone(); };
  EXPECT_TRUE(at::equal(first(1), first(1)));
  EXPECT_FALSE(at::equal(first(1), first(2)));
  double bound = 1 / std::sqrt(784.0);
  EXPECT_LE(first(1).abs().max().item<double>(), bound);
  EXPECT_GT(first(1).abs().max().item<double>(), 0.99 * bound);
}

TEST(Models, AnUnknownNameListsTheKnown) {
  Result<std::unique_ptr<Model>> model = MakeModel({.name = "resnet"}, {1, 28, 28}, 10, 0);
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.status().message(), "model.name 'resnet' is not supported; there are: mlp, simple_cnn, resnet18, gpt");
}

// The fused operation must be what ATen's two compute, gradients included, ties and cut-off values too.
TEST(PoolRelu, IsReluOfMaxPooling) {
  at::manual_seed(3);
  for (int64_t channels : {1, 3, 32}) {
    at::Tensor a = at::randn({4, channels, 12, 8})
                       .mul(2)
                       .round()
                       .div(2)
                       .to(at::kFloat, false, false, at::MemoryFormat::ChannelsLast);
    a = a.as_strided(a.sizes(), {8 * 12 * channels, 1, 8 * channels, channels});
    at::Tensor b = a.clone(at::MemoryFormat::Contiguous);
    a.set_requires_grad(true);
    b.set_requires_grad(true);
    at::Tensor fused = PoolRelu(a), usual = at::max_pool2d(at::relu(b), 2);
    EXPECT_TRUE(at::equal(fused, usual));
    at::Tensor weights = at::randn(fused.sizes());
    (fused * weights).sum().backward();
    (usual * weights).sum().backward();
    EXPECT_TRUE(at::equal(a.grad(), b.grad())) << channels;
  }
}

TEST(PoolRelu, LeavesOddSizesToAten) {
  at::Tensor x = at::randn({2, 4, 7, 7}, at::kFloat).to(at::kFloat, false, false, at::MemoryFormat::ChannelsLast);
  EXPECT_TRUE(at::equal(PoolRelu(x), at::max_pool2d(at::relu(x), 2)));
}

TEST(TrainState, KeepsParametersInOneFlatMemory) {
  auto state = TrainState::Make(Make("mlp"), {}, at::kCPU).value();
  ASSERT_EQ(state->parameters().size(), 6u);
  for (const at::Tensor& parameter : state->parameters())
    EXPECT_EQ(reinterpret_cast<uintptr_t>(parameter.data_ptr()) % 64, 0u);
  {
    at::NoGradGuard no_grad;
    state->flat_parameters().fill_(0.5);
  }
  EXPECT_EQ(state->model().Forward(at::zeros({1, 1, 28, 28}), false).size(1), 10);
  EXPECT_TRUE(at::all(state->parameters()[3] == 0.5).item<bool>());
  EXPECT_EQ(state->All().size(), 3u);  // parameters and Adam's two slots
}

TEST(Optimizers, MatchTheirFormulas) {
  auto step = [](const OptimizerSpec& spec, int steps) {
    at::Tensor flat = at::full({16}, 1.0f);
    auto optimizer = MakeOptimizer(spec, flat, [](const at::Tensor& t) { return std::vector<at::Tensor>{t}; }).value();
    for (int i = 1; i <= steps; ++i) optimizer->Step({at::full({16}, 2.0f)}, i, spec.learning_rate);
    return flat[0].item<float>();
  };
  EXPECT_FLOAT_EQ(step({.name = "sgd", .learning_rate = 0.1}, 1), 0.8f);
  EXPECT_FLOAT_EQ(step({.name = "sgd", .learning_rate = 0.1, .momentum = 0.9}, 2), 1 - 0.2f - 0.38f);
  EXPECT_FLOAT_EQ(step({.name = "sgd", .learning_rate = 0.1, .weight_decay = 0.5}, 1), 1 - 0.25f);
  EXPECT_NEAR(step({.name = "adam", .learning_rate = 0.1}, 1), 0.9f,
              1e-6);  // the first step is lr, whatever the gradient
  EXPECT_NEAR(step({.name = "adamw", .learning_rate = 0.1, .weight_decay = 0.5}, 1), 0.85f, 1e-6);
  EXPECT_FALSE(MakeOptimizer({.name = "lion"}, at::zeros({1}), nullptr).ok());
}

TEST(ReadyOrder, IsFromTheLossBackToTheInputs) {
  auto model = Make("mlp");
  std::vector<at::Tensor> parameters;
  for (const NamedTensor& part : model->parameters()) parameters.push_back(part.tensor);
  std::vector<int64_t> order = RecordReadyOrder(parameters, [&] {
    model->Forward(at::ones({2, 1, 28, 28}), true).sum().backward();
  });
  ASSERT_EQ(order.size(), 6u);
  EXPECT_TRUE(std::is_permutation(order.begin(), order.end(), std::vector<int64_t>{0, 1, 2, 3, 4, 5}.begin()));
  EXPECT_GE(order.front(), 4);  // the last layer comes first
  EXPECT_LE(order.back(), 1);
  for (const at::Tensor& parameter : parameters) EXPECT_FALSE(parameter.grad().defined());
}

}  // namespace
}  // namespace gt::trainer
