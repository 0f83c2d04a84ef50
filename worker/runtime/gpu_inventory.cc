#include "worker/runtime/gpu_inventory.h"

#include <dlfcn.h>

#include <algorithm>
#include <memory>
#include <sstream>

namespace gt::worker {
namespace {

// The part of NVML's ABI (stable since driver 418) that is used here.
using NvmlDevice = void*;
struct NvmlMemory {
  unsigned long long total, free, used;
};
constexpr int kNvmlSuccess = 0;

struct Nvml {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*handle)(unsigned, NvmlDevice*) = nullptr;
  int (*uuid)(NvmlDevice, char*, unsigned) = nullptr;
  int (*name)(NvmlDevice, char*, unsigned) = nullptr;
  int (*memory)(NvmlDevice, NvmlMemory*) = nullptr;
};

template <typename Function>
bool Find(void* library, const char* symbol, Function* out) {
  *out = reinterpret_cast<Function>(dlsym(library, symbol));
  return *out != nullptr;
}

bool Load(void* library, Nvml* nvml) {
  return Find(library, "nvmlInit_v2", &nvml->init) && Find(library, "nvmlShutdown", &nvml->shutdown) &&
         Find(library, "nvmlDeviceGetCount_v2", &nvml->count) &&
         Find(library, "nvmlDeviceGetHandleByIndex_v2", &nvml->handle) &&
         Find(library, "nvmlDeviceGetUUID", &nvml->uuid) && Find(library, "nvmlDeviceGetName", &nvml->name) &&
         Find(library, "nvmlDeviceGetMemoryInfo", &nvml->memory);
}

// A GPU that cannot be asked (fallen off the bus) is left out and named.
GpuScan Ask(const Nvml& nvml) {
  GpuScan scan;
  unsigned count = 0;
  if (int error = nvml.count(&count); error != kNvmlSuccess) {
    scan.note = "the NVIDIA driver cannot count its GPUs: NVML error " + std::to_string(error);
    return scan;
  }
  std::string broken;
  for (unsigned i = 0; i < count; ++i) {
    NvmlDevice device = nullptr;
    char uuid[96] = {}, name[96] = {};
    NvmlMemory memory{};
    if (nvml.handle(i, &device) != kNvmlSuccess || nvml.uuid(device, uuid, sizeof uuid) != kNvmlSuccess ||
        nvml.name(device, name, sizeof name) != kNvmlSuccess || nvml.memory(device, &memory) != kNvmlSuccess) {
      broken += " " + std::to_string(i);
      continue;
    }
    scan.gpus.push_back(Gpu{uuid, name, static_cast<int64_t>(memory.total)});
  }
  scan.note = std::to_string(scan.gpus.size()) + " GPUs found";
  if (!broken.empty()) scan.note += "; these do not answer and are not offered:" + broken;
  return scan;
}

}  // namespace

GpuScan ScanGpus(const char* visible) {
  std::unique_ptr<void, int (*)(void*)> library(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL), dlclose);
  if (!library) return {{}, "no GPUs: there is no NVIDIA driver (libnvidia-ml.so.1)"};
  Nvml nvml;
  if (!Load(library.get(), &nvml)) return {{}, "no GPUs: libnvidia-ml.so.1 is too old"};
  if (int error = nvml.init(); error != kNvmlSuccess) {
    return {{}, "no GPUs: the NVIDIA driver does not answer: NVML error " + std::to_string(error)};
  }
  GpuScan scan = Ask(nvml);
  nvml.shutdown();
  if (visible) {
    scan.gpus = ApplyVisible(scan.gpus, visible);
    scan.note += "; CUDA_VISIBLE_DEVICES leaves " + std::to_string(scan.gpus.size());
  }
  return scan;
}

std::vector<Gpu> ApplyVisible(const std::vector<Gpu>& gpus, const std::string& visible) {
  std::vector<Gpu> chosen;
  std::stringstream entries(visible);
  for (std::string entry; std::getline(entries, entry, ',');) {
    std::erase(entry, ' ');
    const Gpu* match = nullptr;
    bool index_like = !entry.empty() && entry.size() < 6 && entry.find_first_not_of("0123456789") == std::string::npos;
    if (index_like) {
      size_t index = std::stoul(entry);
      if (index < gpus.size()) match = &gpus[index];
    } else if (entry.rfind("GPU-", 0) == 0) {
      for (const Gpu& gpu : gpus)
        if (gpu.uuid.rfind(entry, 0) == 0) match = &gpu;
    }
    if (!match) break;
    // CUDA refuses a device that is named twice.
    if (std::find(chosen.begin(), chosen.end(), *match) != chosen.end()) return {};
    chosen.push_back(*match);
  }
  return chosen;
}

std::vector<Gpu> MakeFakeGpus(const std::string& node, const std::string& model, int64_t memory, int count, int first) {
  std::vector<Gpu> gpus;
  for (int i = 0; i < count; ++i) gpus.push_back(Gpu{"FAKE-" + node + "-" + std::to_string(first + i), model, memory});
  return gpus;
}

}  // namespace gt::worker
