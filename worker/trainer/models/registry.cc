#include <ATen/ATen.h>

#include <string_view>

#include "worker/trainer/models/models.h"

namespace gt::trainer {
namespace {

struct Entry {
  std::string_view name;
  Result<std::unique_ptr<Model>> (*make)(const ModelSpec&, const SampleShape&, int64_t classes);
};

constexpr Entry kModels[] = {
    {"mlp", MakeMlp},
    {"simple_cnn", MakeSimpleCnn},
};

}  // namespace

Result<std::unique_ptr<Model>> MakeModel(const ModelSpec& spec, const SampleShape& shape, int64_t classes,
                                         uint64_t seed) {
  std::string names;
  for (const Entry& entry : kModels) {
    if (entry.name == spec.name) {
      at::manual_seed(seed);
      return entry.make(spec, shape, classes);
    }
    names += (names.empty() ? "" : ", ") + std::string(entry.name);
  }
  return Status(Code::kInvalidArgument, "model.name '" + spec.name + "' is not supported; there are: " + names);
}

}  // namespace gt::trainer
