// The models that registry.cc lists. Each function lives in a file of its own.
#pragma once
#include "worker/trainer/models/model.h"

namespace gt::trainer {

// Two convolutions (32 and 64 channels, 3x3, ReLU, 2x2 max pooling), then 128 hidden units: 421,642 parameters on
// MNIST.
Result<std::unique_ptr<Model>> MakeSimpleCnn(const ModelSpec& spec, const SampleShape& shape, int64_t classes);

// torchvision's resnet18 by its names, without num_batches_tracked; for images of any size and number of channels.
Result<std::unique_ptr<Model>> MakeResnet18(const ModelSpec& spec, const SampleShape& shape, int64_t classes);

// A decoder as GPT-2 is: learned positions, layer norm before each part, GELU (tanh), the token embedding as output
// matrix. `classes` is the vocabulary.
Result<std::unique_ptr<Model>> MakeGpt(const ModelSpec& spec, const SampleShape& shape, int64_t classes);

// input - hidden - hidden - classes with ReLU.
Result<std::unique_ptr<Model>> MakeMlp(const ModelSpec& spec, const SampleShape& shape, int64_t classes);

}  // namespace gt::trainer
