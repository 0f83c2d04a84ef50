#include "worker/trainer/checkpoint/snapshot.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <filesystem>

#include "worker/trainer/checkpoint/format/safetensors.h"

namespace gt::trainer {
namespace {

constexpr char kScalerName[] = "scaler";

// A run may change its precision when it is resumed: a scaler that is new starts anew, one that is gone is dropped.
void ReconcileScaler(std::map<std::string, StoredTensor>* stored, std::vector<NamedTensor>* wanted) {
  auto is_scaler = [](const NamedTensor& part) { return part.name == kScalerName; };
  bool wants = std::any_of(wanted->begin(), wanted->end(), is_scaler);
  if (!wants) stored->erase(kScalerName);
  else if (!stored->contains(kScalerName)) std::erase_if(*wanted, is_scaler);
}

// Checks that `stored` holds exactly the tensors of `wanted`, in their shapes.
Status CheckFits(const std::string& path, const std::map<std::string, StoredTensor>& stored,
                 const std::vector<NamedTensor>& wanted) {
  auto unfit = [&](const std::string& what) {
    return Status(Code::kFailedPrecondition, path + " is of another model: " + what);
  };
  for (const NamedTensor& part : wanted) {
    auto it = stored.find(part.name);
    if (it == stored.end()) return unfit("it has no tensor " + part.name);
    if (it->second.shape != part.tensor.sizes().vec()) return unfit("tensor " + part.name + " has another shape");
  }
  if (stored.size() != wanted.size()) return unfit("it has tensors that this one has not");
  return OkStatus();
}

void CopyInto(const std::map<std::string, StoredTensor>& stored, const std::vector<NamedTensor>& live) {
  at::NoGradGuard no_grad;
  for (const NamedTensor& part : live) {
    const std::vector<float>& values = stored.at(part.name).values;
    part.tensor.copy_(at::from_blob(const_cast<float*>(values.data()), part.tensor.sizes(), at::kFloat));
  }
}

}  // namespace

void SplitState(const TrainState& state, bool copy, std::vector<NamedTensor>* model,
                std::vector<NamedTensor>* optimizer) {
  const FlatLayout& layout = state.layout();
  auto keep = [&](const at::Tensor& tensor) { return copy ? tensor.detach().cpu().clone() : tensor.detach(); };
  auto split = [&](const at::Tensor& flat, const std::string& prefix, std::vector<NamedTensor>* out) {
    at::Tensor kept = keep(flat);  // one large copy, then views of it
    for (size_t i = 0; i < layout.size(); ++i) out->push_back({prefix + layout.name(i), layout.View(kept, i)});
  };
  split(state.flat_parameters(), "", model);
  for (const NamedTensor& buffer : state.model().buffers()) model->push_back({buffer.name, keep(buffer.tensor)});
  for (const NamedTensor& slot : state.optimizer().slots()) split(slot.tensor, slot.name + ".", optimizer);
  if (state.scaler().defined()) optimizer->push_back({kScalerName, keep(state.scaler())});
}

Result<Manifest> LoadCheckpoint(const std::string& given, TrainState* state) {
  std::string folder = given;
  std::error_code error;
  if (!std::filesystem::exists(folder + "/" + kManifestName, error)) {
    std::vector<int64_t> steps = CompleteSteps(folder);
    if (steps.empty()) return Status(Code::kNotFound, "there is no complete checkpoint in " + folder);
    folder += "/" + StepFolder(steps.back());
  }
  GT_ASSIGN_OR_RETURN(Manifest manifest, VerifyCheckpoint(folder));
  GT_ASSIGN_OR_RETURN(auto model, ReadSafetensors(folder + "/" + kModelName));
  GT_ASSIGN_OR_RETURN(auto optimizer, ReadSafetensors(folder + "/" + kOptimizerName));
  std::vector<NamedTensor> live_model, live_optimizer;
  SplitState(*state, /*copy=*/false, &live_model, &live_optimizer);
  ReconcileScaler(&optimizer, &live_optimizer);
  GT_RETURN_IF_ERROR(CheckFits(folder + "/" + kModelName, model, live_model));
  GT_RETURN_IF_ERROR(CheckFits(folder + "/" + kOptimizerName, optimizer, live_optimizer));
  CopyInto(model, live_model);
  CopyInto(optimizer, live_optimizer);
  state->counters = {.step = manifest.step, .cursor = manifest.cursor, .samples = manifest.samples,
                     .evaluated_epochs = manifest.evaluated_epochs};
  return manifest;
}

}  // namespace gt::trainer
