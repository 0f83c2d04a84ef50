#include <string_view>

#include "worker/trainer/optim/optimizers.h"
#include "worker/trainer/schedule/schedule.h"

namespace gt::trainer {
namespace {

struct Entry {
  std::string_view name;
  Result<std::unique_ptr<Optimizer>> (*make)(const OptimizerSpec&, const OptimizerParts&);
};

constexpr Entry kOptimizers[] = {
    {"adam", MakeAdam},
    {"adamw", MakeAdamW},
    {"sgd", MakeSgd},
};

}  // namespace

Result<std::unique_ptr<Optimizer>> MakeOptimizer(const OptimizerSpec& spec, const at::Tensor& flat_parameters,
                                                 std::function<std::vector<at::Tensor>(const at::Tensor&)> cut) {
  GT_RETURN_IF_ERROR(CheckSchedule(spec));
  std::string names;
  for (const Entry& entry : kOptimizers) {
    if (entry.name == spec.name) return entry.make(spec, OptimizerParts{flat_parameters, std::move(cut)});
    names += (names.empty() ? "" : ", ") + std::string(entry.name);
  }
  return Status(Code::kInvalidArgument, "optimizer.name '" + spec.name + "' is not supported; there are: " + names);
}

}  // namespace gt::trainer
