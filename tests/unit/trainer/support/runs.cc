#include "tests/unit/trainer/support/runs.h"

#include <cmath>
#include <filesystem>

#include "worker/trainer/checkpoint/format/manifest.h"
#include "worker/trainer/checkpoint/format/safetensors.h"

namespace gt::trainer::testing {

nlohmann::json BaseSpec() {
  return {{"model", {{"name", "mlp"}, {"hidden", 32}}},
          {"data", {{"format", "synthetic"}, {"samples", 500}}},
          {"batch_size", 32},
          {"epochs", 3},
          {"optimizer", {{"name", "adam"}, {"lr", 1e-3}}},
          {"checkpoint", {{"every", 0}, {"keep", 2}}}};
}

std::vector<float> ModelIn(const std::string& folder) {
  auto tensors = ReadSafetensors(folder + "/" + kModelName);
  EXPECT_TRUE(tensors.ok()) << tensors.status().message();
  std::vector<float> values;
  if (tensors.ok())
    for (const auto& [name, tensor] : *tensors) values.insert(values.end(), tensor.values.begin(), tensor.values.end());
  return values;
}

double LargestDifference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    double difference = std::abs(double{a[i]} - double{b[i]});
    largest = std::isnan(difference) ? HUGE_VAL : std::max(largest, difference);
  }
  return largest;
}

TrainingTest::~TrainingTest() { std::filesystem::remove_all(folder_); }

std::string TrainingTest::Train(const nlohmann::json& spec, int world, const std::string& name, Variables more) {
  more["GT_CHECKPOINT_DIR"] = folder_ + "/" + name;
  std::vector<Variables> ranks = world == 1 ? std::vector<Variables>{more} : TorchrunVariables(world, more);
  std::vector<RunResult> results = RunRanks(spec.dump(), ranks);
  for (const RunResult& result : results) EXPECT_EQ(result.code, 0) << result.output;
  output_ = results[0].output;
  std::vector<int64_t> steps = CompleteSteps(folder_ + "/" + name + "/local");
  EXPECT_FALSE(steps.empty());
  return folder_ + "/" + name + "/local/" + (steps.empty() ? "" : StepFolder(steps.back()));
}

RunResult TrainingTest::RunAlone(const nlohmann::json& spec, const Variables& more) {
  return RunRanks(spec.dump(), {more})[0];
}

}  // namespace gt::trainer::testing
