// Any bytes as a NumPy file of tokens: refused with its name and an offset, or tokens that are all there. Input: the file.
#include <vector>

#include "common/base/assert.h"
#include "common/os/file.h"
#include "tests/fuzz/fuzz.h"
#include "worker/trainer/data/token_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using gt::trainer::TokenFile;
  const std::string path = gt::fuzz::Scratch() + "/tokens.npy";
  GT_ASSERT(gt::WriteFile(path, std::string(reinterpret_cast<const char*>(data), size)).ok());
  gt::Result<std::unique_ptr<TokenFile>> file = TokenFile::Open(path, 2);
  if (!file.ok()) {
    GT_ASSERT(file.status().code() == gt::Code::kDataLoss && file.status().message().find(path) != std::string::npos);
    return 0;
  }
  GT_ASSERT((*file)->size() <= static_cast<int64_t>(size));
  std::vector<int64_t> tokens(static_cast<size_t>((*file)->size()));
  gt::Status status = (*file)->Copy(0, (*file)->size(), 1000, tokens.data());
  if (!status.ok()) return 0;
  for (int64_t token : tokens) GT_ASSERT(token >= 0 && token < 1000);
  return 0;
}
