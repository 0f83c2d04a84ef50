// gt-trainer as processes: without a launcher, as under torchrun, and under one.
#include <gtest/gtest.h>
#include <signal.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/unit/trainer/support/runs.h"
#include "worker/trainer/checkpoint/format/manifest.h"

namespace gt::trainer::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class Training : public TrainingTest {};

TEST_F(Training, OneProcessNeedsNoEnvironment) {
  json spec = BaseSpec();
  spec["data"] = {{"format", "idx"}, {"path", GT_SAMPLE_DIGITS}};
  spec["epochs"] = 1;
  spec["batch_size"] = 128;
  RunResult result = RunRanks(spec.dump(), {{}})[0];
  EXPECT_EQ(result.code, 0) << result.output;
  EXPECT_NE(result.output.find("step 71/71"), std::string::npos) << result.output;  // 9,000 samples
  EXPECT_NE(result.output.find("epoch 1/1  test accuracy "), std::string::npos);
  size_t last = result.output.rfind("\ntest accuracy ");
  ASSERT_NE(last, std::string::npos);
  double accuracy = std::stod(result.output.substr(last + 15));
  EXPECT_GT(accuracy, 70.0);
  EXPECT_LT(accuracy, 100.0);
  EXPECT_NE(result.output.find("/1000)", last), std::string::npos);
}

TEST_F(Training, GlooAndSharedMemoryGiveTheSameModel) {
  std::vector<float> gloo = ModelIn(Train(BaseSpec(), 2, "gloo", {{"GT_COLLECTIVE", "gloo"}}));
  std::vector<float> shm = ModelIn(Train(BaseSpec(), 2, "shm", {{"GT_COLLECTIVE", "shm"}}));
  EXPECT_EQ(0, std::memcmp(gloo.data(), shm.data(), gloo.size() * sizeof(float)));
}

// The same samples in one process, over two and three ranks with uneven last batches, or in micro-steps: the same
// training.
TEST_F(Training, RanksAndAccumulationDoNotChangeTheGradient) {
  json spec = BaseSpec();
  spec["optimizer"] = {{"name", "sgd"}, {"lr", 0.1}, {"momentum", 0.9}};
  spec["batch_size"] = 66;
  std::vector<float> one = ModelIn(Train(spec, 1, "one"));
  spec["batch_size"] = 33;
  std::vector<float> two = ModelIn(Train(spec, 2, "two"));
  spec["accumulate"] = 2;
  std::vector<float> micro = ModelIn(Train(spec, 1, "micro"));
  spec["accumulate"] = 1;
  spec["batch_size"] = 22;
  std::vector<float> three = ModelIn(Train(spec, 3, "three"));
  EXPECT_LT(LargestDifference(one, two), 2e-5);
  EXPECT_LT(LargestDifference(one, micro), 2e-5);
  EXPECT_LT(LargestDifference(one, three), 2e-5);
  spec["seed"] = 1;
  EXPECT_GT(LargestDifference(one, ModelIn(Train(spec, 3, "other"))), 1e-2);  // the comparison can fail
}

TEST_F(Training, AResumedRunEndsBitIdentical) {
  for (int world : {1, 2}) {
    std::string name = std::to_string(world);
    json spec = BaseSpec();
    std::string whole = Train(spec, world, "whole" + name);
    spec["max_steps"] = 11;  // in the middle of the second epoch with two ranks
    std::string half = Train(spec, world, "half" + name);
    spec.erase("max_steps");
    std::string resumed = Train(spec, world, "resumed" + name, {{"GT_RESUME_FROM", half}});
    EXPECT_EQ(fs::path(whole).filename(), fs::path(resumed).filename());
    for (const char* file : {kModelName, kOptimizerName})
      EXPECT_EQ(DigestOf(whole, file)->sha256, DigestOf(resumed, file)->sha256) << world << " " << file;
    EXPECT_NE(DigestOf(whole, kModelName)->sha256, DigestOf(half, kModelName)->sha256);
  }
}

TEST_F(Training, KeepsTheLastCheckpointsAndResumesFromTheirFolder) {
  json spec = BaseSpec();
  spec["epochs"] = 40;
  spec["checkpoint"] = {{"every", 1}, {"keep", 2}};
  Train(spec, 1, "many");
  std::vector<int64_t> steps = CompleteSteps(folder_ + "/many/local");
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps.back(), 640);
  Variables resume{{"GT_RESUME_FROM", folder_ + "/many/local"}};
  RunResult result = RunRanks(spec.dump(), {resume})[0];
  EXPECT_EQ(result.code, 0);
  EXPECT_NE(result.output.find("at step 640"), std::string::npos) << result.output;
}

TEST_F(Training, ATornCheckpointIsNamedAndRefused) {
  json spec = BaseSpec();
  std::string folder = Train(spec, 1, "torn");
  fs::resize_file(folder + "/" + kModelName, 1000);
  RunResult result = RunRanks(spec.dump(), {{{"GT_RESUME_FROM", folder}}})[0];
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.output.find("gt-trainer: " + folder + "/model.safetensors has 1000 bytes"), std::string::npos)
      << result.output;
}

TEST_F(Training, WrongInputsEndWithOneClearLine) {
  auto error_of = [](const json& spec, const Variables& variables) {
    RunResult result = RunRanks(spec.dump(), {variables})[0];
    EXPECT_EQ(result.code, 1);
    return result.output;
  };
  json spec = BaseSpec();
  EXPECT_NE(error_of(spec, {{"GT_GPUS", "1"}}).find("the GPU plug-in cannot be loaded"), std::string::npos);
  spec["precision"] = "fp8";
  EXPECT_NE(error_of(spec, {}).find("precision 'fp8' is not supported; there are: fp32"), std::string::npos);
  spec = BaseSpec();
  spec["data"] = {{"format", "idx"}, {"path", "/nowhere"}};
  EXPECT_NE(error_of(spec, {}).find("/nowhere/train-images-idx3-ubyte"), std::string::npos);
  spec = BaseSpec();
  spec["optimizer"]["lr"] = 1e30;
  EXPECT_NE(error_of(spec, {}).find("the loss is not a finite number at step"), std::string::npos);
}

}  // namespace
}  // namespace gt::trainer::testing
