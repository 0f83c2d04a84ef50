#include "worker/runtime/host_inventory.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <sstream>
#include <vector>

#include "common/os/file.h"

namespace gt::worker {
namespace {

// Larger values in memory.limit_in_bytes mean that there is no limit.
constexpr int64_t kNoLimit = int64_t{1} << 60;

// -1 for what does not begin with a number ("max", an empty file).
int64_t Integer(const std::string& text) {
  char* end = nullptr;
  long long value = std::strtoll(text.c_str(), &end, 10);
  return end == text.c_str() ? -1 : value;
}

std::string Read(const std::string& path) {
  Result<std::string> text = ReadFile(path, 1 << 20);
  return text.ok() ? *text : std::string();
}

// Our cgroup's folder and those above it, where the hierarchy of `controller` is mounted.
std::vector<std::string> Folders(const std::string& mount, const std::string& path) {
  std::vector<std::string> folders{mount};
  std::stringstream parts(path);
  std::string folder = mount;
  for (std::string part; std::getline(parts, part, '/');)
    if (!part.empty()) folders.push_back(folder += "/" + part);
  return folders;
}

void ForEachFolder(const std::string& controller, const std::function<void(const std::string&, bool v2)>& visit) {
  std::string own = Read("/proc/self/cgroup");
  for (const std::string& folder : Folders("/sys/fs/cgroup", CgroupPath(own, ""))) visit(folder, true);
  std::string v1 = CgroupPath(own, controller);
  if (v1.empty()) return;
  for (const std::string& folder : Folders("/sys/fs/cgroup/" + controller, v1)) visit(folder, false);
}

}  // namespace

double QuotaOfV2(const std::string& cpu_max) {
  std::stringstream words(cpu_max);
  std::string quota, period;
  words >> quota >> period;
  return quota == "max" ? -1 : QuotaOfV1(quota, period);
}

double QuotaOfV1(const std::string& quota_us, const std::string& period_us) {
  int64_t quota = Integer(quota_us), period = Integer(period_us);
  return quota <= 0 || period <= 0 ? -1 : static_cast<double>(quota) / static_cast<double>(period);
}

int64_t MemTotal(const std::string& meminfo) {
  size_t at = meminfo.find("MemTotal:");
  int64_t kilobytes = at == std::string::npos ? -1 : Integer(meminfo.substr(at + 9));
  return kilobytes < 0 ? -1 : kilobytes * 1024;
}

std::string CgroupPath(const std::string& proc_self_cgroup, const std::string& controller) {
  std::stringstream lines(proc_self_cgroup);
  for (std::string line; std::getline(lines, line);) {
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    std::stringstream names(line.substr(first + 1, second - first - 1));
    std::string path = line.substr(second + 1);
    if (controller.empty() && second == first + 1) return path;
    for (std::string name; std::getline(names, name, ',');)
      if (name == controller) return path;
  }
  return {};
}

int32_t UsableCpus() {
  cpu_set_t mask[16];  // 16,384 CPUs
  int32_t cpus = sched_getaffinity(0, sizeof mask, mask) == 0 ? CPU_COUNT_S(sizeof mask, mask) : 1;
  ForEachFolder("cpu", [&cpus](const std::string& folder, bool v2) {
    double quota = v2 ? QuotaOfV2(Read(folder + "/cpu.max"))
                      : QuotaOfV1(Read(folder + "/cpu.cfs_quota_us"), Read(folder + "/cpu.cfs_period_us"));
    if (quota > 0) cpus = std::min(cpus, static_cast<int32_t>(std::ceil(quota)));
  });
  return std::max(cpus, 1);
}

int64_t UsableMemory() {
  int64_t memory = MemTotal(Read("/proc/meminfo"));
  ForEachFolder("memory", [&memory](const std::string& folder, bool v2) {
    int64_t limit = Integer(Read(folder + (v2 ? "/memory.max" : "/memory.limit_in_bytes")));
    if (limit > 0 && limit < kNoLimit) memory = memory < 0 ? limit : std::min(memory, limit);
  });
  return std::max<int64_t>(memory, 0);
}

}  // namespace gt::worker
