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
  // gpt
  int64_t layers = 6, heads = 6, width = 384, context = 256, vocabulary = 50257;
  double dropout = 0;
  bool activation_checkpointing = false;  // a key of the spec's top level
};

struct DataSpec {
  std::string format;
  std::string path;       // idx: the folder; tokens: a file or a folder
  int64_t samples = 4096;  // synthetic: how many there are
  std::string token_type = "uint16";  // of a .bin file: uint16 or uint32
  int64_t prefetch = -1;   // batches read ahead; -1: as the format likes it
  int64_t readers = 1;     // threads that read ahead
};

struct ScheduleSpec {
  std::string name = "constant";
  int64_t warmup_samples = 0;
  int64_t step_samples = 0;  // step
  double gamma = 0.1;        // step
  double min_lr = 0;         // cosine
};

struct OptimizerSpec {
  std::string name = "adam";
  double learning_rate = 1e-3;
  double momentum = 0;      // sgd
  double weight_decay = 0;
  double beta1 = 0.9, beta2 = 0.999;  // adam, adamw
  double clip_norm = 0;     // 0: no clipping
  ScheduleSpec schedule;
};

struct CheckpointSpec {
  Millis every = 15 * kMinute;  // 0: only at the end
  int64_t keep = 3;             // complete checkpoints of this attempt that stay
  int64_t keep_every = 0;       // > 0: those of every so many steps stay too
  bool keep_best = false;       // that of the best evaluation stays too
};

struct Spec {
  ModelSpec model;
  DataSpec data;
  int64_t batch_size = 64;  // samples per rank and micro-step, at most
  int64_t global_batch_size = 0;  // > 0: samples of a step over all ranks; then `accumulate` follows
  int64_t epochs = 10;
  OptimizerSpec optimizer;
  std::string precision = "fp32";
  int64_t accumulate = 1;   // micro-steps per optimizer step
  std::string on_nan = "stop";  // stop | skip
  std::string tensorboard;      // folder of event files; empty: none
  uint64_t seed = 0;
  CheckpointSpec checkpoint;
  int64_t log_every = 50;   // steps between two log lines
  int64_t max_steps = 0;    // > 0: end after so many steps; used by the step-time benchmark and tests
  int64_t bench_warmup = -1;  // >= 0: print ms/step, not counting so many first steps
};

// Samples of one optimizer step over all ranks. The last one of an epoch may have fewer.
int64_t SamplesPerStep(const Spec& spec, int world_size);

// Refuses malformed JSON, unknown keys (naming the nearest known one), wrong types and impossible values, with the
// key's path. Names of models, formats, optimizers and precisions are checked by their registries, not here.
Result<Spec> ParseSpec(std::string_view json);
Result<Spec> ReadSpec(const std::string& path);

}  // namespace gt::trainer
