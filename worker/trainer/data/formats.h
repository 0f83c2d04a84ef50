// The formats that registry.cc lists. Each function lives in a file of its own.
#pragma once
#include "worker/trainer/data/dataset.h"

namespace gt::trainer {

// MNIST's format: a folder with train-images-idx3-ubyte and train-labels-idx1-ubyte, optionally the pair t10k-* as test
// set, each plain or with .gz. Where only one pair exists, its every tenth sample (index % 10 == 9) is the test set.
Result<DataSets> OpenIdx(const Spec& spec);

// Text as token ids: a file (.bin or .npy), or a folder with train.bin or train.npy and, as test set, val.bin or val.npy.
// Sample i is the tokens from i * model.context on, each labelled with its successor. The file is mapped, not read.
Result<DataSets> OpenTokens(const Spec& spec);

// Random images of MNIST's shape: for benchmarks. No test set.
Result<DataSets> OpenSynthetic(const Spec& spec);

// Random text of model.context tokens a sample, in which a token mostly follows from the one before, so that there is
// something to learn. No test set.
Result<DataSets> OpenSyntheticTokens(const Spec& spec);

}  // namespace gt::trainer
