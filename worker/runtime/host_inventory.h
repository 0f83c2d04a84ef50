// CPUs and memory that this process may really use: not what the machine has, when a container or a CPU mask gives it
// less.
#pragma once
#include <cstdint>
#include <string>

namespace gt::worker {

// At least 1. The CPU mask, and the CPU quota of our cgroup (v1 or v2), rounded up.
int32_t UsableCpus();
// Bytes. MemTotal, or the smallest memory limit of our cgroup and those above it.
int64_t UsableMemory();

// The parts, for tests. Text as in the kernel's files; nullopt-like -1: no limit.
double QuotaOfV2(const std::string& cpu_max);                               // "150000 100000" -> 1.5
double QuotaOfV1(const std::string& quota_us, const std::string& period_us);
int64_t MemTotal(const std::string& meminfo);
// The path of our cgroup for a v1 controller, or for v2 ("": the unified line); "" when there is none.
std::string CgroupPath(const std::string& proc_self_cgroup, const std::string& controller);

}  // namespace gt::worker
