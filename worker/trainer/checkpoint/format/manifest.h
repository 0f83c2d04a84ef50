// The last, small file of a checkpoint: a folder without a complete manifest is no checkpoint.
//   <dir>/<attempt uid>/step-<N>/{model.safetensors, optimizer.safetensors, manifest.json}
// Written in a folder beside it, synced, then renamed.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "worker/trainer/checkpoint/format/files.h"
#include "worker/trainer/data/order.h"

namespace gt::trainer {

constexpr char kManifestName[] = "manifest.json";
constexpr char kModelName[] = "model.safetensors";
constexpr char kOptimizerName[] = "optimizer.safetensors";

struct Manifest {
  std::string attempt_uid;
  uint32_t generation = 0;
  int64_t step = 0;
  Cursor cursor;
  int64_t samples = 0;
  int64_t evaluated_epochs = 0;
  uint64_t seed = 0;
  std::string model, optimizer;  // names, to refuse what does not fit
  std::vector<FileDigest> files;
};

std::string EncodeManifest(const Manifest& manifest);
Result<Manifest> ParseManifest(const std::string& text);
// Reads the manifest and checks every file's size and digest against it.
Result<Manifest> VerifyCheckpoint(const std::string& folder);

std::string StepFolder(int64_t step);  // "step-120"
// The steps of the complete checkpoints in an attempt's folder, ascending; empty when there is none.
std::vector<int64_t> CompleteSteps(const std::string& attempt_folder);

}  // namespace gt::trainer
