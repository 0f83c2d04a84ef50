// Everything that training changes, and nothing else: parameters, buffers, optimizer state, counters. It is what is
// healed from a peer and what a checkpoint holds.
#pragma once
#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "worker/trainer/data/order.h"
#include "worker/trainer/models/model.h"
#include "worker/trainer/optim/optimizer.h"

namespace gt::trainer {

// Committed together by one optimizer step.
struct Counters {
  int64_t step = 0;     // optimizer steps; -1: this rank has no state yet and must be healed
  Cursor cursor;
  int64_t samples = 0;  // committed samples over all ranks and epochs
  int64_t evaluated_epochs = 0;  // epochs 0 .. n-1 whose test accuracy is known
};

// Places tensors one after the other in flat memory, each on a 64-byte boundary.
class FlatLayout {
 public:
  explicit FlatLayout(const std::vector<NamedTensor>& tensors);
  int64_t numel() const { return numel_; }
  size_t size() const { return names_.size(); }
  const std::string& name(size_t i) const { return names_[i]; }
  // A view of part i in a flat tensor of numel() floats.
  at::Tensor View(const at::Tensor& flat, size_t i) const;
  std::vector<at::Tensor> Views(const at::Tensor& flat) const;

 private:
  std::vector<std::string> names_;
  std::vector<std::vector<int64_t>> sizes_;
  std::vector<int64_t> offsets_;
  int64_t numel_ = 0;
};

// Used by the main thread only. The parameters of `model` are views into `flat_parameters` from construction on.
class TrainState {
 public:
  static Result<std::unique_ptr<TrainState>> Make(std::unique_ptr<Model> model, const OptimizerSpec& optimizer,
                                                  const at::Device& device);

  Model& model() const { return *model_; }
  Optimizer& optimizer() const { return *optimizer_; }
  const at::Tensor& flat_parameters() const { return flat_parameters_; }
  const FlatLayout& layout() const { return layout_; }
  const std::vector<at::Tensor>& parameters() const { return parameters_; }  // leaves that require gradients
  // Flat parameters, then optimizer slots, then buffers, then the scaler: all that a peer or a checkpoint needs beside the
  // counters.
  std::vector<NamedTensor> All() const;

  // Where steps may be skipped: what LossScaler works on. Without it the tensor is undefined.
  void AddScaler();
  const at::Tensor& scaler() const { return scaler_; }

  // The model's buffers one after the other, as a copy, and back. Undefined where there are none.
  at::Tensor CopyBuffers() const;
  void SetBuffers(const at::Tensor& flat);
  int64_t buffer_numel() const { return buffer_numel_; }

  Counters counters;

 private:
  TrainState(std::unique_ptr<Model> model, const at::Device& device);
  std::unique_ptr<Model> model_;
  FlatLayout layout_;
  at::Tensor flat_parameters_;
  std::vector<at::Tensor> parameters_;
  std::unique_ptr<Optimizer> optimizer_;
  int64_t buffer_numel_ = 0;
  at::Tensor scaler_;
};

}  // namespace gt::trainer
