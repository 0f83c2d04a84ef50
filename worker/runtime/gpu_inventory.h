// The GPUs of this node: asked of the driver (NVML, opened with dlopen: no GPU library is needed to build or to start),
// or made up by configuration.
#pragma once
#include <string>
#include <vector>

#include "worker/core/messages.h"

namespace gt::worker {

struct GpuScan {
  std::vector<Gpu> gpus;
  std::string note;  // one line for the log: what was found, or why nothing
};

// `visible`: the value of CUDA_VISIBLE_DEVICES when it is set: the worker then offers only those.
GpuScan ScanGpus(const char* visible);

// What CUDA would make of CUDA_VISIBLE_DEVICES with devices in PCI order: indices or UUIDs (or beginnings of them), in
// the order given; everything from the first entry that names no device on is ignored.
std::vector<Gpu> ApplyVisible(const std::vector<Gpu>& gpus, const std::string& visible);

// `count` GPUs of a model that this node does not have, for tests of placement: UUIDs that are the same at every start
// of this node and differ between nodes.
std::vector<Gpu> MakeFakeGpus(const std::string& node, const std::string& model, int64_t memory, int count, int first);

}  // namespace gt::worker
