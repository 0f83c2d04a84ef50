// best.json in an attempt's folder: which of its checkpoints had the best test accuracy.
#pragma once
#include <cstdint>
#include <string>

#include "common/base/status.h"

namespace gt::trainer {

struct BestCheckpoint {
  int64_t step = -1;    // -1: none yet
  double accuracy = -1;  // 0 .. 1
};

// None yet where the file is missing or is not what was written.
BestCheckpoint ReadBest(const std::string& attempt_folder);
// Whole or not at all.
Status WriteBest(const std::string& attempt_folder, const BestCheckpoint& best);

}  // namespace gt::trainer
