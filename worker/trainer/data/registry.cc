#include <string_view>
#include <vector>

#include "common/base/units.h"
#include "worker/trainer/data/formats.h"

namespace gt::trainer {
namespace {

struct Format {
  std::string_view name;
  Result<DataSets> (*open)(const DataSpec&, uint64_t seed);
};

constexpr Format kFormats[] = {
    {"idx", OpenIdx},
    {"synthetic", OpenSynthetic},
};

}  // namespace

Result<DataSets> OpenData(const DataSpec& spec, uint64_t seed) {
  std::string names;
  for (const Format& format : kFormats) {
    if (format.name == spec.format) return format.open(spec, seed);
    names += (names.empty() ? "" : ", ") + std::string(format.name);
  }
  return Status(Code::kInvalidArgument, "data.format '" + spec.format + "' is not supported; there are: " + names);
}

}  // namespace gt::trainer
