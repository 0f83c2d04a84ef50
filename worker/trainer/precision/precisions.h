// The precisions that registry.cc lists. Each lives in a file of its own.
#pragma once
#include "worker/trainer/precision/precision.h"

namespace gt::trainer {

std::unique_ptr<Precision> MakeFp32();

}  // namespace gt::trainer
