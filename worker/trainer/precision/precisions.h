// The precisions that registry.cc lists. Each lives in a file of its own.
#pragma once
#include "worker/trainer/precision/precision.h"

namespace gt::trainer {

std::unique_ptr<Precision> MakeFp32();
// fp32 whose matrix products may round to tf32 on a GPU.
std::unique_ptr<Precision> MakeTf32();
// Autocast: fp32 weights; matrix products and convolutions in the narrow type.
std::unique_ptr<Precision> MakeBf16();
std::unique_ptr<Precision> MakeFp16();

}  // namespace gt::trainer
