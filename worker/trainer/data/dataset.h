// What a data format gives: samples that can be read in any order. A new format is one file here and one line in
// registry.cc.
#pragma once
#include <cstdint>
#include <memory>
#include <span>

#include "common/base/status.h"
#include "worker/trainer/spec.h"

namespace gt::trainer {

struct SampleShape {
  int64_t channels = 1, height = 1, width = 1;
  int64_t numel() const { return channels * height * width; }
};

// Immutable, hence safe to read from several threads.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual int64_t size() const = 0;
  virtual SampleShape shape() const = 0;
  virtual int64_t classes() const = 0;
  // Writes indices.size() samples of shape().numel() floats to `inputs` and as many labels to `labels`.
  virtual void Read(std::span<const int64_t> indices, float* inputs, int64_t* labels) const = 0;
};

struct DataSets {
  std::unique_ptr<Dataset> train;
  std::unique_ptr<Dataset> test;  // null: this data has none
};

// Opens the data that the spec names. Errors name the file and the byte offset that is wrong.
Result<DataSets> OpenData(const DataSpec& spec, uint64_t seed);

}  // namespace gt::trainer
