#include "worker/trainer/state.h"

#include <ATen/ATen.h>

#include "worker/trainer/precision/loss_scaler.h"

namespace gt::trainer {
namespace {
constexpr int64_t kAlignFloats = 16;
}

FlatLayout::FlatLayout(const std::vector<NamedTensor>& tensors) {
  for (const NamedTensor& part : tensors) {
    names_.push_back(part.name);
    sizes_.push_back(part.tensor.sizes().vec());
    offsets_.push_back(numel_);
    numel_ += (part.tensor.numel() + kAlignFloats - 1) / kAlignFloats * kAlignFloats;
  }
}

at::Tensor FlatLayout::View(const at::Tensor& flat, size_t i) const {
  int64_t count = 1;
  for (int64_t size : sizes_[i]) count *= size;
  return flat.narrow(0, offsets_[i], count).view(sizes_[i]);
}

std::vector<at::Tensor> FlatLayout::Views(const at::Tensor& flat) const {
  std::vector<at::Tensor> views;
  for (size_t i = 0; i < size(); ++i) views.push_back(View(flat, i));
  return views;
}

TrainState::TrainState(std::unique_ptr<Model> model, const at::Device& device)
    : model_(std::move(model)), layout_(model_->parameters()) {
  at::NoGradGuard no_grad;
  flat_parameters_ = at::zeros({layout_.numel()}, at::TensorOptions(at::kFloat).device(device));
  for (size_t i = 0; i < layout_.size(); ++i) {
    at::Tensor parameter = model_->parameters()[i].tensor;
    at::Tensor view = layout_.View(flat_parameters_, i);
    view.copy_(parameter);
    parameter.set_data(view);
    parameters_.push_back(parameter);
  }
  for (const NamedTensor& buffer : model_->buffers()) {
    at::Tensor(buffer.tensor).set_data(buffer.tensor.to(device));
    buffer_numel_ += buffer.tensor.numel();
  }
}

void TrainState::AddScaler() { scaler_ = LossScaler::InitialState(); }

at::Tensor TrainState::CopyBuffers() const {
  if (buffer_numel_ == 0) return {};
  std::vector<at::Tensor> parts;
  for (const NamedTensor& buffer : model_->buffers()) parts.push_back(buffer.tensor.detach().flatten());
  return at::cat(parts);
}

void TrainState::SetBuffers(const at::Tensor& flat) {
  if (buffer_numel_ == 0) return;
  at::NoGradGuard no_grad;
  int64_t at = 0;
  for (const NamedTensor& buffer : model_->buffers()) {
    buffer.tensor.copy_(flat.narrow(0, at, buffer.tensor.numel()).view(buffer.tensor.sizes()));
    at += buffer.tensor.numel();
  }
}

Result<std::unique_ptr<TrainState>> TrainState::Make(std::unique_ptr<Model> model, const OptimizerSpec& optimizer,
                                                     const at::Device& device) {
  std::unique_ptr<TrainState> state(new TrainState(std::move(model), device));
  auto view = [raw = state.get()](const at::Tensor& flat) { return raw->layout_.Views(flat); };
  GT_ASSIGN_OR_RETURN(state->optimizer_, MakeOptimizer(optimizer, state->flat_parameters_, view));
  return state;
}

std::vector<NamedTensor> TrainState::All() const {
  std::vector<NamedTensor> all = {{"parameters", flat_parameters_}};
  for (const NamedTensor& slot : optimizer_->slots()) all.push_back(slot);
  for (const NamedTensor& buffer : model_->buffers()) all.push_back(buffer);
  if (scaler_.defined()) all.push_back({"scaler", scaler_});
  return all;
}

}  // namespace gt::trainer
