// As much of protobuf's wire format as an event needs: the trainer links no protobuf, whose symbols LibTorch has too.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>

namespace gt::trainer {

inline std::string LittleEndian(uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
  return out;
}

class WireMessage {
 public:
  void AddVarint(int field, uint64_t value) {
    Varint(Key(field, 0));
    Varint(value);
  }
  void AddDouble(int field, double value) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    Varint(Key(field, 1));
    bytes_ += LittleEndian(bits, 8);
  }
  void AddBytes(int field, const std::string& value) {
    Varint(Key(field, 2));
    Varint(value.size());
    bytes_ += value;
  }
  void AddFloat(int field, float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    Varint(Key(field, 5));
    bytes_ += LittleEndian(bits, 4);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  static uint64_t Key(int field, int type) { return static_cast<uint64_t>(field) << 3 | static_cast<uint64_t>(type); }
  void Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

}  // namespace gt::trainer
