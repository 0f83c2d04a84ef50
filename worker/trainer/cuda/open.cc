#include <dlfcn.h>
#include <unistd.h>

#include <climits>
#include <string>

#include "worker/trainer/cuda/seam.h"

namespace gt::trainer {
namespace {

std::string BesideTheBinary(const char* name) {
  char path[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  std::string self(path, length > 0 ? static_cast<size_t>(length) : 0);
  return self.substr(0, self.rfind('/') + 1) + name;
}

}  // namespace

Result<CudaPlugin*> OpenCudaPlugin() {
  constexpr char kAdvice[] = "; install the GPU plug-in next to gt-trainer, or submit the job with gpus_per_node: 0";
  std::string path = BesideTheBinary("libgt_cuda.so");
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library) {
    const char* reason = dlerror();
    return Status(Code::kFailedPrecondition,
                  "this rank has GPUs (GT_GPUS or CUDA_VISIBLE_DEVICES), but the GPU plug-in cannot be "
                  "loaded: " +
                      std::string(reason ? reason : path) + kAdvice);
  }
  auto* make = reinterpret_cast<CudaPlugin* (*)(uint32_t)>(dlsym(library, "gt_cuda_plugin"));
  CudaPlugin* plugin = make ? make(kCudaSeamVersion) : nullptr;
  if (!plugin) {
    return Status(Code::kFailedPrecondition, path + " is of another version than gt-trainer (wanted seam version " +
                                                 std::to_string(kCudaSeamVersion) + ")" + kAdvice);
  }
  return plugin;
}

}  // namespace gt::trainer
