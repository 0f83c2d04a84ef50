#include <string_view>
#include <vector>

#include "common/base/units.h"
#include "worker/trainer/data/formats.h"

namespace gt::trainer {
namespace {

struct Format {
  std::string_view name;
  Result<DataSets> (*open)(const Spec&);
};

constexpr Format kFormats[] = {
    {"idx", OpenIdx},
    {"tokens", OpenTokens},
    {"synthetic", OpenSynthetic},
    {"synthetic_tokens", OpenSyntheticTokens},
};

}  // namespace

Result<DataSets> OpenData(const Spec& spec) {
  std::string names;
  for (const Format& format : kFormats) {
    if (format.name == spec.data.format) return format.open(spec);
    names += (names.empty() ? "" : ", ") + std::string(format.name);
  }
  return Status(Code::kInvalidArgument, "data.format '" + spec.data.format + "' is not supported; there are: " + names);
}

}  // namespace gt::trainer
