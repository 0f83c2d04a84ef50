// What a job can ask of a training, seen from outside: whole ranks, their weights and what they print.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/trainer/support/runs.h"
#include "worker/trainer/checkpoint/format/best.h"
#include "worker/trainer/checkpoint/format/manifest.h"
#include "worker/trainer/checkpoint/format/safetensors.h"

namespace gt::trainer::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class Features : public TrainingTest {
 protected:
  void ExpectSameFiles(const std::string& a, const std::string& b) {
    EXPECT_EQ(fs::path(a).filename(), fs::path(b).filename());
    for (const char* file : {kModelName, kOptimizerName})
      EXPECT_EQ(DigestOf(a, file)->sha256, DigestOf(b, file)->sha256) << file;
  }
  // Stops a training at `steps`, resumes it, and expects the end of one that was left alone.
  void ExpectResumesBitIdentical(json spec, int world, int64_t steps) {
    std::string whole = Train(spec, world, "whole");
    spec["max_steps"] = steps;
    std::string half = Train(spec, world, "half");
    spec.erase("max_steps");
    ExpectSameFiles(whole, Train(spec, world, "resumed", {{"GT_RESUME_FROM", half}}));
    EXPECT_NE(DigestOf(whole, kModelName)->sha256, DigestOf(half, kModelName)->sha256);
  }
  // Text in which each token follows from the one before.
  std::string WriteTokens(const std::string& name, int64_t count, uint16_t vocabulary) {
    std::vector<uint16_t> tokens;
    for (int64_t i = 0; i < count; ++i) tokens.push_back(static_cast<uint16_t>(i * 7 % vocabulary));
    std::ofstream(folder_ + "/" + name, std::ios::binary)
        .write(reinterpret_cast<const char*>(tokens.data()), static_cast<std::streamsize>(tokens.size() * 2));
    return folder_ + "/" + name;
  }
  json TextSpec(const std::string& path) {
    json spec = BaseSpec();
    spec["model"] = {{"name", "gpt"}, {"layers", 2}, {"heads", 2}, {"width", 32}, {"context", 16}, {"vocabulary", 31}};
    spec["data"] = {{"format", "tokens"}, {"path", path}};
    spec["batch_size"] = 8;
    spec["epochs"] = 2;
    spec["optimizer"] = {{"name", "adamw"}, {"lr", 3e-3}};
    return spec;
  }
};

double LastLoss(const std::string& output) {
  size_t at = output.rfind("  loss ");
  return at == std::string::npos ? HUGE_VAL : std::stod(output.substr(at + 7));
}

// The size of a step is the job's, whatever the ranks: the same number of steps, and the same training.
TEST_F(Features, AGlobalBatchIsConstantOverWorldSizes) {
  json spec = BaseSpec();
  spec["optimizer"] = {{"name", "sgd"}, {"lr", 0.1}, {"momentum", 0.9}, {"schedule", {{"name", "cosine"}}}};
  spec["global_batch_size"] = 66;
  spec["batch_size"] = 15;
  std::string one = Train(spec, 1, "one"), two = Train(spec, 2, "two"), three = Train(spec, 3, "three");
  EXPECT_EQ(fs::path(one).filename(), "step-24");  // 500 samples are 8 steps, the last one of 38
  for (const std::string& other : {two, three}) {
    EXPECT_EQ(fs::path(other).filename(), "step-24");
    EXPECT_LT(LargestDifference(ModelIn(one), ModelIn(other)), 2e-5);
  }
  spec["global_batch_size"] = 33;
  EXPECT_GT(LargestDifference(ModelIn(one), ModelIn(Train(spec, 1, "other"))), 1e-3);  // the comparison can fail
}

TEST_F(Features, ClippingHappensAfterTheReduction) {
  json spec = BaseSpec();
  spec["optimizer"] = {{"name", "sgd"}, {"lr", 0.1}, {"clip_norm", 0.05}};
  spec["batch_size"] = 64;
  std::vector<float> one = ModelIn(Train(spec, 1, "one"));
  spec["batch_size"] = 32;
  EXPECT_LT(LargestDifference(one, ModelIn(Train(spec, 2, "two"))), 1e-5);
  EXPECT_NE(output_.find("  gradient norm "), std::string::npos) << output_;
  spec["optimizer"].erase("clip_norm");
  EXPECT_GT(LargestDifference(one, ModelIn(Train(spec, 2, "free"))), 1e-3);  // there was something to clip
}

TEST_F(Features, AnInterruptedRunWithEverythingOnEndsBitIdentical) {
  json spec = BaseSpec();
  spec["precision"] = "fp16";
  spec["accumulate"] = 2;
  spec["data"]["prefetch"] = 3;
  spec["optimizer"] = {{"name", "adamw"},  {"lr", 1e-2}, {"weight_decay", 0.1}, {"clip_norm", 0.5},
                       {"schedule", {{"name", "cosine"}, {"warmup_samples", 300}, {"min_lr", 1e-4}}}};
  ExpectResumesBitIdentical(spec, 2, 11);
}

TEST_F(Features, NarrowPrecisionsTrainLikeFp32) {
  json spec = BaseSpec();
  std::vector<float> exact = ModelIn(Train(spec, 2, "fp32"));
  for (const char* precision : {"bf16", "fp16"}) {
    spec["precision"] = precision;
    double difference = LargestDifference(exact, ModelIn(Train(spec, 2, precision)));
    EXPECT_LT(difference, 0.05) << precision;
    EXPECT_GT(difference, 1e-7) << precision;
    EXPECT_EQ(output_.find("loss scale") != std::string::npos, std::string(precision) == "fp16") << output_;
  }
}

// Ranks that did not skip the same steps would end with other weights, and wait for each other at the end.
TEST_F(Features, AllRanksSkipAStepTogether) {
  json spec = BaseSpec();
  spec["precision"] = "fp16";
  spec["log_every"] = 1;
  spec["optimizer"] = {{"name", "sgd"}, {"lr", 30.0}};  // weights grow until products leave the range of fp16
  spec["max_steps"] = 20;
  spec["on_nan"] = "skip";
  Train(spec, 2, "skips");
  EXPECT_NE(output_.find("  skipped "), std::string::npos) << output_;
  EXPECT_NE(output_.find("step 20/20"), std::string::npos) << output_;
}

TEST_F(Features, WhatNeverBecomesFiniteEndsAfterABoundedNumberOfSkips) {
  json spec = BaseSpec();
  spec["epochs"] = 100;
  spec["optimizer"]["lr"] = 1e30;
  spec["on_nan"] = "skip";
  RunResult result = RunAlone(spec);
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.output.find("after 100 steps in a row that were skipped"), std::string::npos) << result.output;
  spec["on_nan"] = "stop";
  result = RunAlone(spec);
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.output.find("; try a lower optimizer.lr"), std::string::npos) << result.output;
}

TEST_F(Features, GptLearnsFromTokenFilesOnTwoRanks) {
  WriteTokens("train.bin", 16 * 200 + 1, 31);
  WriteTokens("val.bin", 16 * 20 + 1, 31);
  json spec = TextSpec(folder_);
  spec["epochs"] = 8;
  Train(spec, 2, "text");
  EXPECT_LT(LastLoss(output_), 1.0) << output_;  // chance: 3.4
  EXPECT_NE(output_.find("test accuracy 100.0 % (320/320)"), std::string::npos) << output_;
  EXPECT_NE(output_.find("  data wait "), std::string::npos);
}

TEST_F(Features, ReadingAheadAndRecomputingChangeNoWeight) {
  json spec = TextSpec(WriteTokens("t.bin", 16 * 100 + 1, 31));
  spec["epochs"] = 1;
  spec["model"]["dropout"] = 0.1;
  std::string plain = Train(spec, 2, "plain");
  spec["data"]["prefetch"] = 0;
  ExpectSameFiles(plain, Train(spec, 2, "inline"));
  spec["activation_checkpointing"] = true;
  EXPECT_LT(LargestDifference(ModelIn(plain), ModelIn(Train(spec, 2, "recompute"))), 1e-6);
}

TEST_F(Features, ABadTokenIsNamedWithItsFileAndOffset) {
  std::string path = WriteTokens("t.bin", 16 * 40 + 1, 31);
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(600).write("\xff\xff", 2);
  RunResult result = RunAlone(TextSpec(path));
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.output.find("gt-trainer: " + path + " has the token 65535, beyond a model.vocabulary of 31, at offset 600"),
            std::string::npos)
      << result.output;
}

// Running means are those over all ranks, so that a resumed run has them too.
TEST_F(Features, Resnet18ResumesBitIdenticalOnTwoRanks) {
  json spec = BaseSpec();
  spec["model"] = {{"name", "resnet18"}};
  spec["data"]["samples"] = 14;
  spec["batch_size"] = 4;
  spec["epochs"] = 1;
  ExpectResumesBitIdentical(spec, 2, 1);
}

TEST_F(Features, KeepsTheBestAndEachOfManySteps) {
  json spec = BaseSpec();
  spec["data"] = {{"format", "idx"}, {"path", GT_SAMPLE_DIGITS}};
  spec["batch_size"] = 500;  // 18 steps an epoch
  spec["checkpoint"] = {{"every", 0}, {"keep", 1}, {"keep_every", 18}, {"keep_best", true}};
  Train(spec, 1, "kept");
  std::string folder = folder_ + "/kept/local";
  EXPECT_EQ(CompleteSteps(folder), (std::vector<int64_t>{18, 36, 54}));
  BestCheckpoint best = ReadBest(folder);
  EXPECT_GT(best.accuracy, 0.3);
  EXPECT_TRUE(VerifyCheckpoint(folder + "/" + StepFolder(best.step)).ok()) << best.step;
}

TEST_F(Features, TensorBoardHasAFolderForEachTask) {
  json spec = BaseSpec();
  spec["tensorboard"] = folder_ + "/tb";
  Train(spec, 2, "board", {{"GT_JOB_ID", "42"}, {"GT_TASK_INDEX", "7"}});
  std::string folder = folder_ + "/tb/42_7";
  ASSERT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);  // rank 0 alone writes
  std::string events = ReadText(fs::directory_iterator(folder)->path());
  for (const char* tag : {"loss", "learning_rate", "samples_per_second", "data_wait", "communication_wait"})
    EXPECT_NE(events.find(tag), std::string::npos) << tag;
}

TEST_F(Features, MetricsReachTheLauncher) {
  json spec = BaseSpec();
  spec["log_every"] = 1;
  Supervisor supervisor(spec.dump(), {});
  supervisor.Start(0);
  ASSERT_TRUE(supervisor.Form(1));
  EXPECT_EQ(supervisor.ExitCode(0), 0) << supervisor.Output(0);
  json metrics;
  for (const json& message : supervisor.rank(0).messages)
    if (message.value("phase", "") == "train") metrics = message["metrics"];
  for (const char* name : {"loss", "learning_rate", "samples_per_second", "step_ms", "data_wait", "communication_wait",
                           "gradient_norm", "memory_bytes", "memory_peak_bytes"})
    EXPECT_TRUE(metrics.contains(name)) << name << " in " << metrics;
}

int RunPython(const std::vector<std::string>& arguments) {
  pid_t pid = fork();
  if (pid == 0) {
    std::vector<char*> words{const_cast<char*>(GT_TORCH_PYTHON)};
    for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    execv(words[0], words.data());
    _exit(127);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(Features, PythonsSafetensorsOpensACheckpoint) {
  if (RunPython({"-c", "import safetensors.numpy"}) != 0)
    GTEST_SKIP() << "the safetensors and numpy packages are not installed for " << GT_TORCH_PYTHON
                 << "; configure with GT_TORCH_PYTHON";
  std::string folder = Train(BaseSpec(), 1, "open");
  EXPECT_EQ(RunPython({"-c", "import sys, safetensors.numpy as s\n"
                             "m = s.load_file(sys.argv[1] + '/model.safetensors')\n"
                             "o = s.load_file(sys.argv[1] + '/optimizer.safetensors')\n"
                             "assert m['fc1.weight'].shape == (32, 784) and len(m) == 6 and len(o) == 12", folder}),
            0);
}

TEST_F(Features, TheExportIsWhatTorchLoads) {
  if (RunPython({"-c", "import torch"}) != 0)
    GTEST_SKIP() << "the torch package is not installed for " << GT_TORCH_PYTHON << "; configure with GT_TORCH_PYTHON";
  std::string folder = Train(BaseSpec(), 1, "export"), file = folder_ + "/out.pt";
  ASSERT_EQ(RunPython({GT_EXPORT_TORCH, folder, file}), 0);
  EXPECT_EQ(RunPython({"-c", "import sys, torch\n"
                             "c = torch.load(sys.argv[1])\n"
                             "assert c['model']['fc1.weight'].shape == (32, 784) and c['manifest']['step'] == 48", file}),
            0);
  fs::resize_file(folder + "/" + kModelName, 1000);
  EXPECT_NE(RunPython({GT_EXPORT_TORCH, folder, file}), 0);
}

}  // namespace
}  // namespace gt::trainer::testing
