// What to train: SPEC.json, as the worker writes it from a job's `train:` section. Keys as in the job file; durations
// are integer milliseconds, sizes bytes, enums lower-case words.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/base/time.h"

namespace gt::trainer {

struct ModelSpec {
  std::string name;
  int64_t hidden = 128;  // mlp: width of both hidden layers
};

struct DataSpec {
  std::string format;
  std::string path;       // idx: the folder
  int64_t samples = 4096;  // synthetic: how many there are
};

struct OptimizerSpec {
  std::string name = "adam";
  double learning_rate = 1e-3;
  double momentum = 0;      // sgd
  double weight_decay = 0;
};

struct CheckpointSpec {
  Millis every = 15 * kMinute;  // 0: only at the end
  int64_t keep = 3;             // complete checkpoints of this attempt that stay
};

struct Spec {
  ModelSpec model;
  DataSpec data;
  int64_t batch_size = 64;  // samples per rank and micro-step
  int64_t epochs = 10;
  OptimizerSpec optimizer;
  std::string precision = "fp32";
  int64_t accumulate = 1;   // micro-steps per optimizer step
  uint64_t seed = 0;
  CheckpointSpec checkpoint;
  int64_t log_every = 50;   // steps between two log lines
  int64_t max_steps = 0;    // > 0: end after so many steps; used by the step-time benchmark and tests
  int64_t bench_warmup = -1;  // >= 0: print ms/step, not counting so many first steps
};

// Refuses malformed JSON, unknown keys (naming the nearest known one), wrong types and impossible values, with the
// key's path. Names of models, formats, optimizers and precisions are checked by their registries, not here.
Result<Spec> ParseSpec(std::string_view json);
Result<Spec> ReadSpec(const std::string& path);

}  // namespace gt::trainer
