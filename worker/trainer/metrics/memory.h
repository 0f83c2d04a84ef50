// How much memory this process has, as the kernel counts it.
#pragma once
#include <cstdint>

namespace gt::trainer {

struct ProcessMemory {
  int64_t now_bytes = 0, most_bytes = 0;  // resident; 0 where the kernel does not say
};
ProcessMemory ReadProcessMemory();

}  // namespace gt::trainer
