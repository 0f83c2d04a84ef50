#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text/job_check.h"
#include "common/text/yaml_message.h"

namespace gt {
namespace {

using gridtrain::v1::JobSpec;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

JobSpec Job(const std::string& yaml) {
  JobSpec spec;
  MessageReader reader(&spec);
  reader.ReadText(yaml, "job.yaml");
  EXPECT_TRUE(reader.ok()) << reader.status().message();
  return spec;
}
std::vector<std::string> Problems(const JobSpec& spec) {
  std::vector<std::string> lines;
  for (const FieldProblem& problem : CheckJob(spec)) lines.push_back(problem.path + ": " + problem.message);
  return lines;
}
std::vector<std::string> Problems(const std::string& yaml) { return Problems(Job(yaml)); }

const std::string kRun = "run: {command: [/bin/true]}\n";
const std::string kTrain = "train: {model: {name: simple_cnn}, data: {path: /d}}\n";

TEST(JobCheck, GoodJobsPass) {
  EXPECT_THAT(Problems(kRun), IsEmpty());
  EXPECT_THAT(Problems(kTrain + "resources: {nodes: 2, gpus_per_node: 8, gpu: {model: [H100]}}\narray: 0-99999\n"),
              IsEmpty());
  EXPECT_THAT(Problems(kRun + "time_limit: 10s\n"), IsEmpty());  // the default grace is no fault of the user's
}

TEST(JobCheck, AJobIsExactlyOneOfTrainAndRun) {
  EXPECT_THAT(Problems("name: x"), ElementsAre(StartsWith(": has neither train")));
  EXPECT_THAT(Problems(kRun + kTrain), ElementsAre(StartsWith(": has both train and run")));
}

TEST(JobCheck, ArraysAreRangesOfBoundedLength) {
  EXPECT_EQ(ParseArrayRange("7")->count(), 1u);
  EXPECT_EQ(ParseArrayRange("10-12")->last, 12u);
  for (const char* bad :
       {"", "-", "3-", "-3", "5-1", "a", "0-100000", "1,2", " 1", "01", "1-2-3", "0-4294967296", "4294967295"})
    EXPECT_FALSE(ParseArrayRange(bad).ok()) << bad;
  EXPECT_THAT(Problems(kRun + "array: 5-1"), ElementsAre("array: \"5-1\" runs backwards; write 1-5"));
}

TEST(JobCheck, CommandsMustFitAnExec) {
  JobSpec spec = Job(kRun);
  spec.mutable_run()->set_command(0, "");
  EXPECT_THAT(Problems(spec), ElementsAre("run.command[0]: is empty; it names the program"));
  spec.mutable_run()->set_command(0, std::string("a\0b", 3));
  EXPECT_THAT(Problems(spec), ElementsAre("run.command[0]: has a zero byte"));
  spec.mutable_run()->set_command(0, std::string(kMaxExecString, 'x'));
  EXPECT_THAT(Problems(spec), ElementsAre(StartsWith("run.command[0]: is 128KiB long")));
  spec.mutable_run()->set_command(0, std::string(kMaxExecString - 1, 'x'));
  EXPECT_THAT(Problems(spec), IsEmpty());
  for (int i = 0; i < 16; ++i) spec.mutable_run()->add_command(std::string(kMaxExecString - 1, 'x'));
  EXPECT_THAT(Problems(spec), ElementsAre(StartsWith("run.command: command and env together take")));
}

TEST(JobCheck, VariablesMustHaveNames) {
  for (const char* name : {"", "A=B", "A\nB"}) {
    JobSpec spec = Job(kRun);
    (*spec.mutable_run()->mutable_env())[name] = "x";
    EXPECT_EQ(Problems(spec).size(), 1u) << name;
  }
}

TEST(JobCheck, NamesOfWhatThereIsAreCheckedAndTheNearestIsNamed) {
  EXPECT_THAT(
      Problems("train: {model: {name: simple_cn}, data: {path: /d, format: idxx}, optimizer: {name: adamm}}"),
      ElementsAre("train.model.name: no model \"simple_cn\"; did you mean \"simple_cnn\"? (there is: simple_cnn, mlp, resnet18, gpt)",
                  "train.data.format: no data format \"idxx\"; did you mean \"idx\"? (there is: idx, tokens, synthetic, synthetic_tokens)",
                  "train.optimizer.name: no optimizer \"adamm\"; did you mean \"adam\"? (there is: adam, adamw, sgd)"));
}

TEST(JobCheck, SettingsThatWouldBeIgnoredAreRefused) {
  EXPECT_THAT(
      Problems("train: {model: {name: simple_cnn, hidden: 3}, data: {path: /d}, optimizer: {momentum: 0.9}}").size(),
      2u);
  EXPECT_THAT(Problems("train: {model: {name: mlp, layers: 3}, data: {path: /d, token_type: uint32, samples: 5}, "
                       "optimizer: {name: sgd, beta1: 0.8, schedule: {name: cosine, gamma: 0.5}}}"),
              ElementsAre(StartsWith("train.model.layers: means nothing to mlp"),
                          StartsWith("train.data.samples: means nothing to idx"),
                          StartsWith("train.data.token_type: means nothing to idx"),
                          StartsWith("train.optimizer.beta1: means nothing to sgd"),
                          StartsWith("train.optimizer.schedule.gamma: means nothing to cosine")));
  EXPECT_THAT(Problems("train: {model: {name: mlp}, data: {path: /d}, activation_checkpointing: true}"),
              ElementsAre(StartsWith("train.activation_checkpointing: means nothing to mlp")));
}

TEST(JobCheck, ATextTrainingIsWholeOrNamesWhatIsWrong) {
  const std::string model = "train: {model: {name: gpt, layers: 2, heads: 4, width: 64, context: 32}, ";
  EXPECT_THAT(Problems(model + "data: {format: tokens, path: /d, token_type: uint32, prefetch: 4}, precision: bf16, "
                               "activation_checkpointing: true, on_nan: skip, global_batch_size: 512, tensorboard: /t, "
                               "optimizer: {name: adamw, beta2: 0.95, clip_norm: 1, "
                               "schedule: {name: cosine, warmup_samples: 1000, min_lr: 1e-5}}, "
                               "checkpoint: {keep_every: 100, keep_best: true}}"),
              IsEmpty());
  EXPECT_THAT(Problems(model + "data: {format: synthetic_tokens, samples: 100}}"), IsEmpty());
  EXPECT_THAT(Problems(model + "data: {path: /d}}"),
              ElementsAre(StartsWith("train.data.format: \"idx\" is images, but gpt learns from text")));
  EXPECT_THAT(Problems(model + "data: {format: tokens}}"), ElementsAre(StartsWith("train.data.path: is required")));
  EXPECT_THAT(Problems("train: {model: {name: gpt, heads: 5, width: 64}, data: {format: tokens, path: /d}}"),
              ElementsAre("train.model.width: 64 cannot be shared out to 5 heads evenly"));
  EXPECT_THAT(Problems(model + "data: {format: tokens, path: /d}, optimizer: {schedule: step}}"),
              ElementsAre(StartsWith("train.optimizer.schedule.step_samples: is required by step")));
}

TEST(JobCheck, WhatIsNotBuiltIsRefusedByName) {
  EXPECT_THAT(Problems("train: {model: {name: mlp}, data: {path: /d}, on_nan: rollback}"),
              ElementsAre(AllOf(StartsWith("train.on_nan: \"rollback\" is not supported yet"), HasSubstr("stop or skip"))));
  EXPECT_THAT(Problems("train: {model: {name: mlp}, data: {path: /d}, precision: fp8}"),
              ElementsAre(AllOf(StartsWith("train.precision: \"fp8\" is not supported yet"), HasSubstr("bf16"))));
}

TEST(JobCheck, AGlobalBatchIsSharedOutToAllRanks) {
  EXPECT_THAT(Problems(kTrain.substr(0, kTrain.rfind('}')) + ", global_batch_size: 6}\nresources: {nodes: 8}"),
              ElementsAre("train.global_batch_size: 6 leaves some of 8 ranks without a sample"));
  EXPECT_THAT(Problems(kTrain.substr(0, kTrain.rfind('}')) + ", global_batch_size: 64, accumulate: 2}"),
              ElementsAre(StartsWith("train.accumulate: follows from global_batch_size")));
}

TEST(JobCheck, GpusAndProcessesMustAgree) {
  EXPECT_THAT(Problems(kRun + "resources: {gpu: {model: [H100]}}"),
              ElementsAre("resources.gpu: asks for a kind of GPU, but gpus_per_node is 0"));
  EXPECT_THAT(Problems(kTrain + "resources: {gpus_per_node: 4, processes_per_node: 2}"),
              ElementsAre(StartsWith("resources.processes_per_node: is 2")));
  EXPECT_THAT(Problems(kRun + "resources: {gpus_per_node: 4, processes_per_node: 3}"),
              ElementsAre(StartsWith("resources.processes_per_node: 3 processes")));
  EXPECT_THAT(Problems(kRun + "resources: {gpus_per_node: 4, processes_per_node: 1}"), IsEmpty());
  EXPECT_THAT(Problems(kRun + "resources: {nodes: 4096, processes_per_node: 1024}"),
              ElementsAre(StartsWith("resources: asks for 4194304 ranks")));
}

TEST(JobCheck, LimitsOfTimeMustAgree) {
  EXPECT_THAT(Problems(kRun + "time_limit: 10s\ngrace: 20s\n"),
              ElementsAre("grace: 20s is longer than time_limit, 10s"));
  EXPECT_THAT(Problems(kRun + "on_disconnect: stop_after"),
              ElementsAre(StartsWith("on_disconnect.stop_after: is required")));
  EXPECT_THAT(Problems(kRun + "on_disconnect: {stop_after: 10m}"),
              ElementsAre(StartsWith("on_disconnect.stop_after: has no meaning")));
  EXPECT_THAT(Problems(kRun + "on_disconnect: {action: stop_after, stop_after: 10m}"), IsEmpty());
}

TEST(JobCheck, ANameMayBeAnyUtf8) {
  JobSpec spec = Job(kRun);
  spec.set_name("\xff");
  EXPECT_THAT(Problems(spec), ElementsAre("name: is not valid UTF-8"));
  for (const char* name : {"Ünï 漢 🚀", "a\nb", "$(x) `y` \"z\""}) {
    spec.set_name(name);
    EXPECT_THAT(Problems(spec), IsEmpty()) << name;
  }
}

TEST(JobCheck, WhatComesFromTheWireIsHeldToTheRulesOfItsFields) {
  JobSpec spec = Job(kRun);
  spec.set_priority(-1);
  spec.mutable_resources()->mutable_nodes()->set_count(0);
  spec.add_depends_on()->set_job(1);
  spec.mutable_resources()->set_spot(gridtrain::v1::SPOT_NEVER);
  EXPECT_EQ(Problems(spec).size(), 4u);
  EXPECT_THAT(Problems(spec), Contains("priority: -1 is too small; the least is 0"));
}

TEST(JobCheck, DerivedValuesAreMadeInOnePlace) {
  JobShape plain = ShapeOf(Job(kRun));
  EXPECT_EQ(plain.nodes, 1);
  EXPECT_EQ(plain.world_size, 1);
  EXPECT_EQ(plain.cpus_per_node, 1);
  EXPECT_FALSE(plain.array);
  JobShape big = ShapeOf(Job(
      kTrain + "resources: {nodes: 2, gpus_per_node: 4, cpus_per_process: 3, memory_per_node: 1GiB}\narray: 3-9\n"));
  EXPECT_EQ(big.ranks_per_node, 4);
  EXPECT_EQ(big.world_size, 8);
  EXPECT_EQ(big.cpus_per_node, 12);
  EXPECT_EQ(big.memory_per_node, 1 << 30);
  EXPECT_EQ(big.indices.first, 3u);
  EXPECT_EQ(big.indices.count(), 7u);
}

}  // namespace
}  // namespace gt
