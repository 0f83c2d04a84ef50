// One file of token ids, mapped into memory: raw little-endian numbers (.bin), or NumPy's format (.npy, versions 1 to 3,
// one dimension of unsigned or signed integers).
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "common/base/status.h"

namespace gt::trainer {

// Immutable; any thread.
class TokenFile {
 public:
  // `token_bytes` (2 or 4) is the width of a number in a .bin file. kNotFound: there is no such file; kDataLoss naming
  // file and offset: it is not what its header or its length promise.
  static Result<std::unique_ptr<TokenFile>> Open(const std::string& path, int token_bytes);
  ~TokenFile();
  TokenFile(const TokenFile&) = delete;
  TokenFile& operator=(const TokenFile&) = delete;

  int64_t size() const { return count_; }  // tokens
  // Tokens first .. first+count-1, which must exist. kDataLoss with the offset of the first that is not below
  // `vocabulary`.
  Status Copy(int64_t first, int64_t count, int64_t vocabulary, int64_t* out) const;
  // A file that was cut short after it was opened: reading it would end the process, so ask before.
  Status CheckLength() const;
  Status BrokenAt(int64_t offset, const std::string& what) const;

 private:
  TokenFile(std::string path, int fd, int64_t bytes, const uint8_t* data);
  Status ReadBinHeader(int token_bytes);
  Status ReadNpyHeader();
  Status ReadNpyDescription(const std::string& text);
  uint64_t At(int64_t index) const;

  const std::string path_;
  const int fd_;
  const int64_t bytes_;
  const uint8_t* const data_;
  // Set once, by Open.
  int64_t start_ = 0, count_ = 0;
  int width_ = 0;
};

}  // namespace gt::trainer
