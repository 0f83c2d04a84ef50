// Randomness from the kernel, for names and keys that nobody may guess.
#pragma once
#include <cstddef>
#include <string>

#include "common/base/ids.h"
#include "common/base/status.h"

namespace gt {

Status FillRandom(void* buffer, size_t size);  // getrandom(2)
Result<Uid> RandomUid();                       // never the empty uid
Result<std::string> RandomKey();               // 32 hex digits

}  // namespace gt
