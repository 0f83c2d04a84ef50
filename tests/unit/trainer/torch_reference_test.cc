// The models against PyTorch's own modules: names, sizes, outputs, gradients. fixtures/make_models.py wrote the numbers.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "worker/trainer/models/model.h"

namespace gt::trainer {
namespace {

using nlohmann::json;

json Reference(const char* model) {
  std::ifstream file(GT_MODEL_FIXTURE);
  return json::parse(file)[model];
}

// The same numbers as the script's.
at::Tensor Pattern(int64_t count, int64_t which) {
  at::Tensor i = at::arange(count, at::kLong);
  return (((i * 7919 + which * 104729) % 2003).to(at::kDouble) / 2003 - 0.5).to(at::kFloat);
}

void Fill(Model& model) {
  at::NoGradGuard no_grad;
  int64_t which = 0;
  for (const NamedTensor& part : model.parameters()) {
    at::Tensor values = Pattern(part.tensor.numel(), which++).view_as(part.tensor);
    if (part.tensor.dim() == 1) part.tensor.copy_((part.name.ends_with("weight") ? 1 : 0) + 0.25 * values);
    else part.tensor.copy_(values * (2 / std::sqrt(static_cast<double>(part.tensor[0].numel()))));
  }
}

void ExpectNear(const at::Tensor& actual, const json& expected, double tolerance, const std::string& what) {
  auto values = expected.get<std::vector<double>>();
  at::Tensor flat = actual.detach().flatten().to(at::kDouble);
  ASSERT_EQ(flat.numel(), static_cast<int64_t>(values.size())) << what;
  for (size_t i = 0; i < values.size(); ++i) {
    double value = flat[static_cast<int64_t>(i)].item<double>();
    EXPECT_NEAR(value, values[i], tolerance * std::max(1.0, std::abs(values[i]))) << what << " " << i;
  }
}

void ExpectLike(Model& model, const json& reference, const at::Tensor& inputs, const at::Tensor& labels, int64_t rows,
                double tolerance) {
  EXPECT_EQ(model.parameter_count(), reference["parameters"].get<int64_t>());
  ASSERT_EQ(model.parameters().size(), reference["names"].size());
  for (size_t i = 0; i < model.parameters().size(); ++i)
    EXPECT_EQ(model.parameters()[i].name, reference["names"][i].get<std::string>());
  Fill(model);
  {
    at::NoGradGuard no_grad;
    ExpectNear(model.Forward(inputs, false).narrow(0, 0, rows), reference["eval_logits"], tolerance, "eval");
  }
  at::Tensor logits = model.Forward(inputs, true);
  ExpectNear(logits.narrow(0, 0, rows), reference["train_logits"], tolerance, "train");
  at::Tensor loss = at::cross_entropy_loss(logits, labels);
  EXPECT_NEAR(loss.item<double>(), reference["loss"].get<double>(), tolerance);
  loss.backward();
  std::vector<at::Tensor> norms;
  for (const NamedTensor& part : model.parameters()) norms.push_back(part.tensor.grad().norm());
  ExpectNear(at::stack(norms), reference["gradient_norms"], tolerance, "gradient norms");
  EXPECT_EQ(model.buffers().size(), reference["buffers"].size());
  for (const NamedTensor& buffer : model.buffers())
    ExpectNear(buffer.tensor.narrow(0, 0, 4), reference["buffers"][buffer.name], tolerance, buffer.name);
}

ModelSpec SmallGpt() {
  return {.name = "gpt", .layers = 2, .heads = 4, .width = 32, .context = 12, .vocabulary = 50};
}

TEST(Reference, Resnet18IsThatOfTorchvision) {
  auto model = MakeModel({.name = "resnet18"}, {3, 64, 64}, 10, 0).value();
  ExpectLike(*model, Reference("resnet18"), Pattern(2 * 3 * 64 * 64, 1000).view({2, 3, 64, 64}),
             at::tensor({3, 8}, at::kLong), 2, 2e-4);
  EXPECT_EQ(MakeModel({.name = "resnet18"}, {3, 224, 224}, 1000, 0).value()->parameter_count(), 11689512);
  EXPECT_EQ(Reference("resnet18_imagenet_parameters").get<int64_t>(), 11689512);
}

TEST(Reference, GptIsThatOfGpt2) {
  auto model = MakeModel(SmallGpt(), {.tokens = 12}, 50, 0).value();
  at::Tensor tokens = (at::arange(24, at::kLong) * 31 + 7) % 50;
  ExpectLike(*model, Reference("gpt"), tokens.view({2, 12}), (tokens + 1) % 50, 3, 2e-4);
}

TEST(Reference, GptSeesNothingOfWhatComesLater) {
  auto model = MakeModel(SmallGpt(), {.tokens = 12}, 50, 3).value();
  at::NoGradGuard no_grad;
  at::Tensor tokens = at::randint(50, {1, 12}, at::kLong), other = tokens.clone();
  other[0][11] = (tokens[0][11] + 1) % 50;
  at::Tensor a = model->Forward(tokens, false), b = model->Forward(other, false);
  EXPECT_TRUE(at::allclose(a.narrow(0, 0, 11), b.narrow(0, 0, 11), 1e-5, 1e-6));
  EXPECT_FALSE(at::allclose(a[11], b[11]));
}

TEST(Models, ImagesAndTextAreNotMixedUp) {
  auto error = [](const ModelSpec& spec, const SampleShape& shape) {
    return MakeModel(spec, shape, 10, 0).status().message();
  };
  EXPECT_EQ(error(SmallGpt(), {1, 28, 28}), "model gpt learns from text, but the data is images");
  EXPECT_EQ(error({.name = "mlp"}, {.tokens = 12}), "model mlp learns from images, but the data is text");
  EXPECT_NE(error({.name = "gpt", .heads = 5, .width = 32, .context = 12}, {.tokens = 12}).find("5 heads"),
            std::string::npos);
  EXPECT_EQ(error({.name = "mlp", .activation_checkpointing = true}, {1, 28, 28}),
            "activation_checkpointing means nothing to model mlp");
}

}  // namespace
}  // namespace gt::trainer
