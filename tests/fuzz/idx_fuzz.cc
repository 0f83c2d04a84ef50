// Any bytes as IDX files: refused, or samples that are all there and labels within their classes. Input: how long the file
// with the images is, that file, then the one with the labels.
#include <vector>

#include "common/base/assert.h"
#include "common/os/file.h"
#include "tests/fuzz/fuzz.h"
#include "worker/trainer/data/formats.h"
#include "worker/trainer/data/idx_file.h"

namespace gt::trainer {
namespace {

void CheckFile(const std::string& path, int rank) {
  Result<IdxFile> file = ReadIdx(path, rank);
  if (!file.ok()) {
    GT_ASSERT(file.status().code() == Code::kDataLoss && file.status().message().find(path) != std::string::npos);
    return;
  }
  GT_ASSERT(file->dims.size() == static_cast<size_t>(rank));
  size_t bytes = 1;
  for (int64_t size : file->dims) bytes *= static_cast<size_t>(size);
  GT_ASSERT(file->bytes.size() == bytes);
}

void CheckSet(const Dataset& set) {
  std::vector<int64_t> indices, labels(static_cast<size_t>(set.size()));
  for (int64_t i = 0; i < set.size(); ++i) indices.push_back(i);
  std::vector<float> inputs(static_cast<size_t>(set.size() * set.shape().numel()));
  GT_ASSERT(set.Read(indices, {.values = inputs.data(), .labels = labels.data()}).ok());
  for (int64_t label : labels) GT_ASSERT(label >= 0 && label < set.classes());
}

}  // namespace
}  // namespace gt::trainer

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gt::trainer;
  gt::fuzz::Input input(data, size);
  size_t images_bytes = input.Take<uint16_t>();
  const std::string& folder = gt::fuzz::Scratch();
  const std::string images = folder + "/train-images-idx3-ubyte", labels = folder + "/train-labels-idx1-ubyte";
  GT_ASSERT(gt::WriteFile(images, input.TakeBytes(images_bytes)).ok());
  GT_ASSERT(gt::WriteFile(labels, input.rest()).ok());
  CheckFile(images, 3);
  CheckFile(labels, 1);
  gt::Result<DataSets> sets = OpenIdx({.data = {.format = "idx", .path = folder}});
  if (!sets.ok()) return 0;
  CheckSet(*sets->train);
  if (sets->test) CheckSet(*sets->test);
  return 0;
}
