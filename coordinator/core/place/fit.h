// Whether a node can take one part of a gang: the one predicate that placement and explanations share.
#pragma once
#include <string>
#include <vector>

#include "coordinator/core/model.h"

namespace gt {

// What is kept back on a node for tasks that come first and do not fit yet.
struct Reserved {
  int32_t cpus = 0;
  int64_t memory = 0;
  int32_t gpus = 0;
};

enum class Fit : uint8_t {
  kYes,
  // never, as the node is
  kTooFewCpus, kTooLittleMemory, kTooFewGpus,
  // not as it stands
  kLost, kAway, kSilent, kDraining, kCleaning,
  // not now
  kCpusBusy, kMemoryBusy, kGpusBusy, kReserved,
};

bool CouldEver(Fit fit);  // the node is large enough for the shape, whatever its state

// A node not heard of since `heard_since` (monotonic) takes nothing new.
Fit CheckFit(const Node& node, const Shape& shape, const Reserved& reserved, Millis heard_since);
// "node b: 2 of 8 CPUs free, 4 needed"
std::string FitText(const Node& node, const Shape& shape, Fit fit);
bool Matches(const Gpu& gpu, const Shape& shape);
// UUIDs of free GPUs for one member; the node must fit.
std::vector<std::string> PickGpus(const Node& node, const Shape& shape);
// "2 nodes with 4 CPUs, 2GiB and 1 GPU (H100, 40GiB)"
std::string ShapeText(const Shape& shape);

}  // namespace gt
