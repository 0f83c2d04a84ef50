// The safetensors format: u64 little-endian length of a JSON header {"name": {"dtype", "shape", "data_offsets"}}, then
// raw data. Readable by the Python package of that name. Float32 only: that is what our checkpoints hold.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "worker/trainer/checkpoint/format/files.h"

namespace gt::trainer {

struct TensorBytes {
  std::string name;
  std::vector<int64_t> shape;
  const float* data = nullptr;  // contiguous; must outlive the call
};

Result<FileDigest> WriteSafetensors(const std::string& folder, const std::string& name,
                                    const std::vector<TensorBytes>& tensors);

struct StoredTensor {
  std::vector<int64_t> shape;
  std::vector<float> values;
};
// kDataLoss naming the file and what is wrong: torn, overlapping or missing data, an impossible header.
Result<std::map<std::string, StoredTensor>> ReadSafetensors(const std::string& path);

}  // namespace gt::trainer
