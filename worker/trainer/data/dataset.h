// What a data format gives: samples that can be read in any order. A new format is one file here and one line in
// registry.cc.
#pragma once
#include <cstdint>
#include <memory>
#include <span>

#include "common/base/status.h"
#include "worker/trainer/spec.h"

namespace gt::trainer {

// A sample is an image with one label, or, where `tokens` > 0, so many token ids with a label each.
struct SampleShape {
  int64_t channels = 1, height = 1, width = 1;
  int64_t tokens = 0;
  bool is_text() const { return tokens > 0; }
  int64_t numel() const { return is_text() ? tokens : channels * height * width; }
  int64_t labels() const { return is_text() ? tokens : 1; }
};

// Where the samples of a batch go: `values` for images, `tokens` for text, whichever the shape says.
struct SampleMemory {
  float* values = nullptr;
  int64_t* tokens = nullptr;
  int64_t* labels = nullptr;
};

// Immutable, hence safe to read from several threads.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual int64_t size() const = 0;
  virtual SampleShape shape() const = 0;
  virtual int64_t classes() const = 0;  // labels are below it
  // Writes indices.size() samples, ready for a model: shape().numel() values and shape().labels() labels each. kDataLoss
  // names the file and the offset of what is wrong.
  virtual Status Read(std::span<const int64_t> indices, const SampleMemory& to) const = 0;
  // Batches that are worth reading ahead on another thread, where the job does not say; 0 where reading costs less than
  // handing over.
  virtual int64_t prefetch() const { return 0; }
};

struct DataSets {
  std::unique_ptr<Dataset> train;
  std::unique_ptr<Dataset> test;  // null: this data has none
};

// Opens the data that the spec names. Errors name the file and the byte offset that is wrong.
Result<DataSets> OpenData(const Spec& spec);

}  // namespace gt::trainer
