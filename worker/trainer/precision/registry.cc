#include <ATen/ATen.h>

#include <string_view>

#include "worker/trainer/precision/precisions.h"

namespace gt::trainer {
namespace {

struct Entry {
  std::string_view name;
  std::unique_ptr<Precision> (*make)();
};

constexpr Entry kPrecisions[] = {
    {"fp32", MakeFp32},
    {"tf32", MakeTf32},
    {"bf16", MakeBf16},
    {"fp16", MakeFp16},
};

}  // namespace

Result<std::unique_ptr<Precision>> MakePrecision(const std::string& name) {
  std::string names;
  for (const Entry& entry : kPrecisions) {
    if (entry.name == name) return entry.make();
    names += (names.empty() ? "" : ", ") + std::string(entry.name);
  }
  return Status(Code::kInvalidArgument, "precision '" + name + "' is not supported; there are: " + names);
}

}  // namespace gt::trainer
