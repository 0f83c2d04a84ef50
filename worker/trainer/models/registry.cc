#include <ATen/ATen.h>

#include <string_view>

#include "worker/trainer/models/models.h"

namespace gt::trainer {
namespace {

struct Entry {
  std::string_view name;
  Result<std::unique_ptr<Model>> (*make)(const ModelSpec&, const SampleShape&, int64_t classes);
  bool text;    // learns from tokens, not from images
  bool blocks;  // can keep block inputs alone and compute again
};

constexpr Entry kModels[] = {
    {.name = "mlp", .make = MakeMlp, .text = false, .blocks = false},
    {.name = "simple_cnn", .make = MakeSimpleCnn, .text = false, .blocks = false},
    {.name = "resnet18", .make = MakeResnet18, .text = false, .blocks = true},
    {.name = "gpt", .make = MakeGpt, .text = true, .blocks = true},
};

Status CheckFits(const Entry& entry, const ModelSpec& spec, const SampleShape& shape) {
  if (entry.text != shape.is_text())
    return Status(Code::kInvalidArgument, "model " + spec.name + " learns from " + (entry.text ? "text" : "images") +
                                              ", but the data is " + (entry.text ? "images" : "text"));
  if (spec.activation_checkpointing && !entry.blocks)
    return Status(Code::kInvalidArgument, "activation_checkpointing means nothing to model " + spec.name);
  return OkStatus();
}

}  // namespace

Result<std::unique_ptr<Model>> MakeModel(const ModelSpec& spec, const SampleShape& shape, int64_t classes,
                                         uint64_t seed) {
  std::string names;
  for (const Entry& entry : kModels) {
    if (entry.name == spec.name) {
      GT_RETURN_IF_ERROR(CheckFits(entry, spec, shape));
      at::manual_seed(seed);
      return entry.make(spec, shape, classes);
    }
    names += (names.empty() ? "" : ", ") + std::string(entry.name);
  }
  return Status(Code::kInvalidArgument, "model.name '" + spec.name + "' is not supported; there are: " + names);
}

}  // namespace gt::trainer
