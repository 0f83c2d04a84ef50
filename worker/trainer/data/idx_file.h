// One file in IDX format (big-endian: magic, dimensions, unsigned bytes), plain or gzip.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace gt::trainer {

struct IdxFile {
  std::vector<int64_t> dims;
  std::vector<uint8_t> bytes;  // product of dims
};

// Reads `path`, or `path`.gz where the former does not exist. `rank` is the number of dimensions that the file must
// have. kNotFound when neither exists; kDataLoss naming file and offset when the content is not what its header
// promises.
Result<IdxFile> ReadIdx(const std::string& path, int rank);

}  // namespace gt::trainer
