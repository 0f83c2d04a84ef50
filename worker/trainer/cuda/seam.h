// The seam to GPUs. Everything that links CUDA or NCCL lives in one plug-in, libgt_cuda.so beside the binary, opened
// when the job has GPUs; the trainer itself runs where there is no CUDA at all.
//
// The plug-in is built with the same LibTorch and exports one C function:
//   extern "C" gt::trainer::CudaPlugin* gt_cuda_plugin(uint32_t version);   // null when it does not speak that version
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>

#include "common/base/status.h"
#include "worker/trainer/collective/backend.h"

namespace c10d {
class Store;
}

namespace gt::trainer {

constexpr uint32_t kCudaSeamVersion = 1;

// Lives as long as the process. SelectDevice and Synchronize are for the main thread, MakeBackend for builder threads.
class CudaPlugin {
 public:
  virtual ~CudaPlugin() = default;
  // The GPU of this rank on its host, made current for the calling thread. Errors say what is missing.
  virtual Result<at::Device> SelectDevice(int local_rank) = 0;
  // NCCL behind the abortable seam. Blocks; may throw.
  virtual Result<c10::intrusive_ptr<AbortableBackend>> MakeBackend(const c10::intrusive_ptr<c10d::Store>& store,
                                                                   int rank, int world_size) = 0;
  // Waits for all work that this thread has queued on the device.
  virtual void Synchronize() = 0;
};

// Opens the plug-in. kFailedPrecondition says what is missing and what to do.
Result<CudaPlugin*> OpenCudaPlugin();

}  // namespace gt::trainer
