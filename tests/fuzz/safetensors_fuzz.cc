// Any bytes as a file of tensors: refused, or tensors that share out its data without rest or overlap, and that are the
// same once they are written again.
#include <bit>
#include <cstring>
#include <filesystem>

#include "common/base/assert.h"
#include "common/os/file.h"
#include "tests/fuzz/fuzz.h"
#include "worker/trainer/checkpoint/format/safetensors.h"

namespace gt::trainer {
namespace {

size_t CountOf(const std::vector<int64_t>& shape) {
  size_t count = 1;
  for (int64_t size : shape) count *= static_cast<size_t>(size);
  return count;
}

// Bit by bit: a NaN is not equal to itself.
bool Same(const StoredTensor& a, const StoredTensor& b) {
  size_t bytes = a.values.size() * sizeof(float);
  return a.shape == b.shape && a.values.size() == b.values.size() &&
         (bytes == 0 || std::memcmp(a.values.data(), b.values.data(), bytes) == 0);
}

}  // namespace
}  // namespace gt::trainer

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gt::trainer;
  const std::string path = gt::fuzz::Scratch() + "/given", copy = gt::fuzz::Scratch() + "/copy";
  GT_ASSERT(gt::WriteFile(path, {reinterpret_cast<const char*>(data), size}).ok());
  auto tensors = ReadSafetensors(path);
  if (!tensors.ok()) {
    GT_ASSERT(tensors.status().code() == gt::Code::kDataLoss);
    return 0;
  }
  size_t values = 0;
  std::vector<TensorBytes> parts;
  for (const auto& [name, tensor] : *tensors) {
    GT_ASSERT(tensor.values.size() == CountOf(tensor.shape));
    values += tensor.values.size();
    parts.push_back({name, tensor.shape, tensor.values.data()});
  }
  GT_ASSERT(8 + values * sizeof(float) <= size);
  std::filesystem::remove(copy);
  GT_ASSERT(WriteSafetensors(gt::fuzz::Scratch(), "copy", parts).ok());
  auto again = ReadSafetensors(copy);
  GT_ASSERT(again.ok() && again->size() == tensors->size());
  for (const auto& [name, tensor] : *tensors) GT_ASSERT(Same(tensor, again->at(name)));
  return 0;
}
