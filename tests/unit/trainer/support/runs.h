// Whole trainings as processes, and what their checkpoints hold.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/trainer/support/supervisor.h"

namespace gt::trainer::testing {

// A small, quick training: mlp on 500 synthetic images, three epochs, one checkpoint at the end.
nlohmann::json BaseSpec();

// The values of all parameters in a checkpoint, in the order of their names.
std::vector<float> ModelIn(const std::string& folder);
double LargestDifference(const std::vector<float>& a, const std::vector<float>& b);

class TrainingTest : public ::testing::Test {
 protected:
  ~TrainingTest() override;
  // Trains with `world` ranks to a good end and returns the folder of the last checkpoint.
  std::string Train(const nlohmann::json& spec, int world, const std::string& name, Variables more = {});
  // What rank 0 of a lone training printed; it may fail.
  RunResult RunAlone(const nlohmann::json& spec, const Variables& more = {});

  std::string folder_ = MakeTempFolder();
  std::string output_;  // of rank 0 in the last Train
};

}  // namespace gt::trainer::testing
