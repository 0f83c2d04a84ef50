// In which numbers a step runs, and what keeps its gradients in bounds.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "worker/trainer/collective/group.h"
#include "worker/trainer/ddp/diagnosis.h"
#include "worker/trainer/models/model.h"
#include "worker/trainer/models/recompute.h"
#include "worker/trainer/optim/clip.h"
#include "worker/trainer/precision/loss_scaler.h"
#include "worker/trainer/precision/precision.h"

namespace gt::trainer {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<at::Tensor> GradientsIn(const std::string& precision, const std::string& name) {
  bool text = name == "gpt";
  ModelSpec spec{.name = name, .layers = 2, .heads = 2, .width = 16, .context = 8, .vocabulary = 30};
  auto model = MakeModel(spec, text ? SampleShape{.tokens = 8} : SampleShape{1, 28, 28}, text ? 30 : 10, 1).value();
  at::manual_seed(5);
  at::Tensor inputs = text ? at::randint(30, {4, 8}, at::kLong) : at::rand({4, 1, 28, 28});
  at::Tensor labels = at::randint(text ? 30 : 10, {text ? 32 : 4}, at::kLong);
  at::Tensor logits = MakePrecision(precision).value()->Forward(*model, inputs, true);
  EXPECT_EQ(logits.scalar_type(), at::kFloat);
  at::cross_entropy_loss(logits, labels).backward();
  std::vector<at::Tensor> gradients;
  for (const NamedTensor& part : model->parameters()) gradients.push_back(part.tensor.grad());
  return gradients;
}

double Difference(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  std::vector<at::Tensor> parts;
  for (size_t i = 0; i < a.size(); ++i) parts.push_back((a[i] - b[i]).norm());
  return at::stack(parts).norm().item<double>() / GradientNorm(a);
}

TEST(Precision, NarrowTypesComputeNearlyTheSameAndWeightsStayFloat) {
  for (const char* model : {"mlp", "simple_cnn", "gpt"}) {
    std::vector<at::Tensor> exact = GradientsIn("fp32", model);
    for (const auto& [precision, most] : {std::pair{"bf16", 0.1}, {"fp16", 0.02}}) {
      std::vector<at::Tensor> narrow = GradientsIn(precision, model);
      for (const at::Tensor& gradient : narrow) EXPECT_EQ(gradient.scalar_type(), at::kFloat);
      EXPECT_LT(Difference(exact, narrow), most) << model << " " << precision;
      EXPECT_GT(Difference(exact, narrow), 1e-5) << model << " " << precision;  // it did compute in another type
    }
  }
}

TEST(Precision, Tf32IsFp32OnACpu) { EXPECT_EQ(Difference(GradientsIn("fp32", "mlp"), GradientsIn("tf32", "mlp")), 0); }

TEST(Precision, OnlyFp16ScalesTheLoss) {
  for (const char* name : {"fp32", "tf32", "bf16"}) EXPECT_FALSE(MakePrecision(name).value()->scales_loss());
  EXPECT_TRUE(MakePrecision("fp16").value()->scales_loss());
}

TEST(LossScaler, HalvesAfterWhatIsNotFiniteAndDoublesAfterManyGoodSteps) {
  at::Tensor state = LossScaler::InitialState();
  LossScaler scaler(state);
  EXPECT_EQ(scaler.scale(), 65536);
  EXPECT_TRUE(scaler.Update(false));
  EXPECT_EQ(scaler.scale(), 32768);
  for (int i = 0; i < 1999; ++i) ASSERT_TRUE(scaler.Update(true));
  EXPECT_EQ(scaler.scale(), 32768);
  LossScaler resumed(state);  // all that it knows lies in the state
  EXPECT_TRUE(resumed.Update(true));
  EXPECT_EQ(resumed.scale(), 65536);
}

TEST(LossScaler, SaysWhenTheScaleIsNotToBlame) {
  LossScaler scaler(LossScaler::InitialState());
  for (int i = 0; i < 16; ++i) EXPECT_TRUE(scaler.Update(false));
  EXPECT_EQ(scaler.scale(), 1);
  EXPECT_FALSE(scaler.Update(false));
  EXPECT_EQ(scaler.scale(), 1);
}

TEST(LossScaler, UnscalesInPlaceAndFindsWhatIsNotFinite) {
  LossScaler scaler(LossScaler::InitialState());
  std::vector<at::Tensor> gradients{at::full({5}, 65536.0f), at::full({2, 2}, 131072.0f)};
  EXPECT_TRUE(scaler.Unscale(gradients));
  EXPECT_TRUE(at::equal(gradients[0], at::ones({5})));
  EXPECT_TRUE(at::equal(gradients[1], at::full({2, 2}, 2.0f)));
  for (float bad : {kInfinity, std::nanf("")}) {
    gradients[1][1][0] = bad;
    EXPECT_FALSE(scaler.Unscale(gradients));
  }
  EXPECT_EQ(scaler.skipped(), 0);
  scaler.CountSkipped();
  EXPECT_EQ(scaler.skipped(), 1);
}

TEST(Clipping, KeepsTheNormOverAllGradientsInBounds) {
  std::vector<at::Tensor> gradients{at::full({4}, 3.0f), at::full({1}, 8.0f)};
  EXPECT_DOUBLE_EQ(GradientNorm(gradients), 10);
  ClipGradients(gradients, 10, 20);
  EXPECT_DOUBLE_EQ(GradientNorm(gradients), 10);
  ClipGradients(gradients, 10, 0);  // off
  EXPECT_DOUBLE_EQ(GradientNorm(gradients), 10);
  ClipGradients(gradients, 10, 2.5);
  EXPECT_NEAR(GradientNorm(gradients), 2.5, 1e-5);
  EXPECT_NEAR(gradients[1].item<float>() / gradients[0][0].item<float>(), 8.0 / 3, 1e-5);  // the direction stays
  gradients[0][2] = kInfinity;
  EXPECT_FALSE(std::isfinite(GradientNorm(gradients)));
}

// Gradients and random numbers of a model with and without keeping its activations.
struct Pass {
  std::vector<at::Tensor> gradients, buffers;
  at::Tensor logits, drawn_after;
};
Pass RunModel(ModelSpec spec, bool recompute, const std::string& precision) {
  spec.activation_checkpointing = recompute;
  bool text = spec.name == "gpt";
  auto model = MakeModel(spec, text ? SampleShape{.tokens = 8} : SampleShape{3, 32, 32}, text ? 30 : 10, 1).value();
  at::manual_seed(5);
  at::Tensor inputs = text ? at::randint(30, {4, 8}, at::kLong) : at::rand({4, 3, 32, 32});
  at::Tensor labels = at::randint(text ? 30 : 10, {text ? 32 : 4}, at::kLong);
  Pass run;
  run.logits = MakePrecision(precision).value()->Forward(*model, inputs, true);
  at::cross_entropy_loss(run.logits, labels).backward();
  run.drawn_after = at::rand({4});
  for (const NamedTensor& part : model->parameters()) run.gradients.push_back(part.tensor.grad());
  for (const NamedTensor& part : model->buffers()) run.buffers.push_back(part.tensor);
  return run;
}

TEST(Recomputing, ChangesNoGradientNoBufferAndNoRandomNumber) {
  ModelSpec gpt{.name = "gpt", .layers = 2, .heads = 2, .width = 16, .context = 8, .vocabulary = 30, .dropout = 0.2};
  for (const ModelSpec& spec : {gpt, ModelSpec{.name = "resnet18"}}) {
    for (const char* precision : {"fp32", "bf16"}) {
      Pass plain = RunModel(spec, false, precision), again = RunModel(spec, true, precision);
      EXPECT_TRUE(at::equal(plain.logits, again.logits)) << spec.name;
      EXPECT_TRUE(at::equal(plain.drawn_after, again.drawn_after)) << spec.name;
      EXPECT_LT(Difference(plain.gradients, again.gradients), 1e-6) << spec.name << " " << precision;
      for (size_t i = 0; i < plain.buffers.size(); ++i)
        EXPECT_TRUE(at::equal(plain.buffers[i], again.buffers[i])) << i;
    }
  }
}

TEST(Recomputing, KeepsOnlyTheInputsOfABlock) {
  at::Tensor weight = at::rand({8, 8}).set_requires_grad(true), x = at::rand({2, 8}).set_requires_grad(true);
  int runs = 0;
  auto block = [&](const at::Tensor& input) {
    EXPECT_EQ(IsRecomputing(), runs == 1);
    ++runs;
    return at::relu(at::linear(input, weight));
  };
  at::Tensor y = Recomputed(block, x, {weight});
  EXPECT_EQ(runs, 1);
  y.sum().backward();
  EXPECT_EQ(runs, 2);
  EXPECT_FALSE(IsRecomputing());
  EXPECT_TRUE(weight.grad().defined() && x.grad().defined());
  at::NoGradGuard no_grad;
  Recomputed([](const at::Tensor& input) { return input * 2; }, x, {});
}

TEST(Diagnosis, NamesWhatWasSeenAndWhatToTry) {
  Spec spec;
  spec.precision = "fp16";
  Status status = ExplainBadNumbers(spec, {.step = 7, .loss = NAN, .last_loss = 2.5, .learning_rate = 0.1});
  EXPECT_NE(status.message().find("the loss is not a finite number at step 7 (loss nan, before it 2.5, lr 0.1)"),
            std::string::npos)
      << status.message();
  for (const char* advice : {"lower optimizer.lr", "clip_norm: 1", "bf16", "on_nan: skip"})
    EXPECT_NE(status.message().find(advice), std::string::npos) << advice;
  spec.on_nan = "skip";
  spec.optimizer.clip_norm = 1;
  status = ExplainBadNumbers(spec, {.step = 9, .loss = 1, .gradient_norm = kInfinity, .skipped_in_a_row = 100});
  EXPECT_NE(status.message().find("a gradient is not a finite number"), std::string::npos);
  EXPECT_NE(status.message().find("100 steps in a row"), std::string::npos);
  EXPECT_EQ(status.message().find("clip_norm: 1"), std::string::npos);  // it is on already
}

TEST(Diagnosis, TellsMemoryFromOtherFailures) {
  Spec spec;
  spec.model.name = "gpt";
  Status raw = CatchTorch([] { at::empty({int64_t{1} << 50}, at::kFloat); });  // what the library really says
  Status status = ExplainFailure(spec, 3, {.now_bytes = 5 << 20, .most_bytes = 6 << 20}, raw);
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  for (const char* part : {"out of memory in step 3", "5MiB", "batch_size: 32", "accumulate: 2",
                           "activation_checkpointing: true", "precision: bf16"})
    EXPECT_NE(status.message().find(part), std::string::npos) << part << " in " << status.message();
  Status other(Code::kUnavailable, "a peer closed the connection");
  EXPECT_EQ(ExplainFailure(spec, 3, {}, other).message(), other.message());
  EXPECT_EQ(ExplainFailure(spec, 3, {}, other).code(), Code::kUnavailable);
}

}  // namespace
}  // namespace gt::trainer
