// SHA-256 (FIPS 180-4), for the digests in a checkpoint's manifest.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace gt::trainer {

class Sha256 {
 public:
  Sha256();
  void Update(const void* data, size_t bytes);
  std::string Hex();  // 64 digits; call once, at the end

 private:
  void Block(const uint8_t* block);
  uint32_t state_[8];
  uint8_t pending_[64];
  size_t pending_bytes_ = 0;
  uint64_t total_bytes_ = 0;
};

}  // namespace gt::trainer
