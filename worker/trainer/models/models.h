// The models that registry.cc lists. Each function lives in a file of its own.
#pragma once
#include "worker/trainer/models/model.h"

namespace gt::trainer {

// Two convolutions (32 and 64 channels, 3x3, ReLU, 2x2 max pooling), then 128 hidden units: 421,642 parameters on
// MNIST.
Result<std::unique_ptr<Model>> MakeSimpleCnn(const ModelSpec& spec, const SampleShape& shape, int64_t classes);

// input - hidden - hidden - classes with ReLU.
Result<std::unique_ptr<Model>> MakeMlp(const ModelSpec& spec, const SampleShape& shape, int64_t classes);

}  // namespace gt::trainer
