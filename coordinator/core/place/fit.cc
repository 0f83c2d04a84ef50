#include "coordinator/core/place/fit.h"

#include <algorithm>
#include <cctype>

#include "common/base/units.h"

namespace gt {
namespace {

int32_t CountGpus(const std::vector<Gpu>& gpus, const Shape& shape, bool free_only) {
  return static_cast<int32_t>(std::count_if(gpus.begin(), gpus.end(), [&](const Gpu& gpu) {
    return Matches(gpu, shape) && (!free_only || gpu.user.empty());
  }));
}

std::string Plural(int64_t count, const std::string& word) { return std::to_string(count) + " " + word + (count == 1 ? "" : "s"); }

}  // namespace

bool CouldEver(Fit fit) { return fit == Fit::kYes || fit > Fit::kTooFewGpus; }

bool Matches(const Gpu& gpu, const Shape& shape) {
  if (gpu.memory < shape.gpu_memory) return false;
  if (shape.gpu_models.empty()) return true;
  std::string model = gpu.model;
  std::transform(model.begin(), model.end(), model.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::any_of(shape.gpu_models.begin(), shape.gpu_models.end(),
                     [&](const std::string& wanted) { return model.find(wanted) != std::string::npos; });
}

Fit CheckFit(const Node& node, const Shape& shape, const Reserved& reserved, Millis heard_since) {
  if (node.inventory.cpus < shape.cpus) return Fit::kTooFewCpus;
  if (node.inventory.memory < shape.memory) return Fit::kTooLittleMemory;
  if (shape.gpus > 0 && CountGpus(node.gpus, shape, false) < shape.gpus) return Fit::kTooFewGpus;
  if (node.state == NodeState::kLost) return Fit::kLost;
  if (!node.connected || !node.snapshot_complete || node.state != NodeState::kUp) return Fit::kAway;
  if (node.last_heard < heard_since) return Fit::kSilent;
  if (node.draining) return Fit::kDraining;
  if (!node.stale.empty()) return Fit::kCleaning;
  if (node.cpus_free < shape.cpus) return Fit::kCpusBusy;
  if (node.memory_free < shape.memory) return Fit::kMemoryBusy;
  int32_t gpus_free = shape.gpus > 0 ? CountGpus(node.gpus, shape, true) : 0;
  if (gpus_free < shape.gpus) return Fit::kGpusBusy;
  bool held = (shape.cpus > 0 && node.cpus_free - reserved.cpus < shape.cpus) ||
              (shape.memory > 0 && node.memory_free - reserved.memory < shape.memory) ||
              (shape.gpus > 0 && gpus_free - reserved.gpus < shape.gpus);
  return held ? Fit::kReserved : Fit::kYes;
}

std::string FitText(const Node& node, const Shape& shape, Fit fit) {
  const Inventory& has = node.inventory;
  std::string text = "node " + node.name + ": ";
  switch (fit) {
    case Fit::kYes: return text + "fits";
    case Fit::kTooFewCpus: return text + "has " + Plural(has.cpus, "CPU") + ", " + std::to_string(shape.cpus) + " needed";
    case Fit::kTooLittleMemory: return text + "has " + HumanBytes(has.memory) + " of memory, " + HumanBytes(shape.memory) + " needed";
    case Fit::kTooFewGpus:
      return text + "has " + Plural(CountGpus(node.gpus, shape, false), "GPU") + " that would do, " + std::to_string(shape.gpus) + " needed";
    case Fit::kLost: return text + "lost";
    case Fit::kAway: return text + "not connected";
    case Fit::kSilent: return text + "silent";
    case Fit::kDraining: return text + "draining" + (node.drain_reason.empty() ? "" : " (" + node.drain_reason + ")");
    case Fit::kCleaning: return text + "still stopping " + Plural(static_cast<int64_t>(node.stale.size()), "old attempt");
    case Fit::kCpusBusy:
      return text + std::to_string(std::max(0, node.cpus_free)) + " of " + Plural(has.cpus, "CPU") + " free, " + std::to_string(shape.cpus) + " needed";
    case Fit::kMemoryBusy:
      return text + HumanBytes(std::max<int64_t>(0, node.memory_free)) + " of " + HumanBytes(has.memory) + " free, " + HumanBytes(shape.memory) + " needed";
    case Fit::kGpusBusy:
      return text + std::to_string(CountGpus(node.gpus, shape, true)) + " of " + Plural(CountGpus(node.gpus, shape, false), "GPU") +
             " that would do free, " + std::to_string(shape.gpus) + " needed";
    case Fit::kReserved: return text + "kept free for a task that comes first";
  }
  return text;
}

std::vector<std::string> PickGpus(const Node& node, const Shape& shape) {
  std::vector<std::string> uuids;
  for (const Gpu& gpu : node.gpus) {
    if (static_cast<int32_t>(uuids.size()) == shape.gpus) break;
    if (gpu.user.empty() && Matches(gpu, shape)) uuids.push_back(gpu.uuid);
  }
  return uuids;
}

std::string ShapeText(const Shape& shape) {
  std::string text = Plural(shape.nodes, "node") + " with " + Plural(shape.cpus, "CPU");
  if (shape.memory > 0) text += ", " + HumanBytes(shape.memory);
  if (shape.gpus == 0) return text;
  text += " and " + Plural(shape.gpus, "GPU");
  std::string kind;
  for (const std::string& model : shape.gpu_models) kind += (kind.empty() ? "" : " or ") + model;
  if (shape.gpu_memory > 0) kind += (kind.empty() ? "" : ", ") + HumanBytes(shape.gpu_memory);
  return kind.empty() ? text : text + " (" + kind + ")";
}

}  // namespace gt
