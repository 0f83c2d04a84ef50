#include "worker/trainer/metrics/memory.h"

#include <cstdlib>
#include <fstream>
#include <string>

namespace gt::trainer {

ProcessMemory ReadProcessMemory() {
  ProcessMemory memory;
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    int64_t* out = line.starts_with("VmRSS:") ? &memory.now_bytes : line.starts_with("VmHWM:") ? &memory.most_bytes : nullptr;
    if (out) *out = std::strtoll(line.c_str() + line.find(':') + 1, nullptr, 10) * 1024;
  }
  return memory;
}

}  // namespace gt::trainer
