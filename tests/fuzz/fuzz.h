// What fuzz programs share: bytes of an exact size, numbers from an input, files for parsers that want a path.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace gt::fuzz {

// A copy in a heap block of exactly its size, so that AddressSanitizer sees every read beyond it.
class Exact {
 public:
  explicit Exact(std::string_view bytes) : data_(new char[bytes.size()]), size_(bytes.size()) {
    if (size_ > 0) std::memcpy(data_.get(), bytes.data(), size_);
  }
  std::string_view view() const { return {data_.get(), size_}; }

 private:
  std::unique_ptr<char[]> data_;
  size_t size_;
};

// Takes things off the front of an input; past its end everything is zero or empty.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}
  template <typename Int>
  Int Take() {
    Int value = 0;
    size_t have = std::min(sizeof value, rest_.size());
    if (have > 0) std::memcpy(&value, rest_.data(), have);
    rest_.remove_prefix(have);
    return value;
  }
  std::string_view TakeBytes(size_t size) {
    std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view rest() const { return rest_; }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

template <typename Int>
Int ReadInt(std::string_view bytes, size_t at) {
  Int value;
  std::memcpy(&value, bytes.substr(at, sizeof value).data(), sizeof value);
  return value;
}
template <typename Int>
void WriteInt(std::string* bytes, size_t at, Int value) {
  std::memcpy(bytes->data() + at, &value, sizeof value);
}

// An empty folder of this process, in memory where there is such a file system; gone at the end.
const std::string& Scratch();
// Empties it.
void ClearScratch();

}  // namespace gt::fuzz
