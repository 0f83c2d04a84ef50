// The formats that registry.cc lists. Each function lives in a file of its own.
#pragma once
#include "worker/trainer/data/dataset.h"

namespace gt::trainer {

// MNIST's format: a folder with train-images-idx3-ubyte and train-labels-idx1-ubyte, optionally the pair t10k-* as test
// set, each plain or with .gz. Where only one pair exists, its every tenth sample (index % 10 == 9) is the test set.
Result<DataSets> OpenIdx(const DataSpec& spec, uint64_t seed);

// Random images of MNIST's shape: for benchmarks. No test set.
Result<DataSets> OpenSynthetic(const DataSpec& spec, uint64_t seed);

}  // namespace gt::trainer
