#include <array>

#include "worker/trainer/metrics/events/event_file.h"

namespace gt::trainer {
namespace {

constexpr uint32_t kPolynomial = 0x82F63B78;  // Castagnoli's, reflected

constexpr std::array<uint32_t, 256> MakeTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) ? crc >> 1 ^ kPolynomial : crc >> 1;
    table[byte] = crc;
  }
  return table;
}
constexpr std::array<uint32_t, 256> kTable = MakeTable();

}  // namespace

uint32_t Crc32c(const void* data, size_t bytes) {
  uint32_t crc = ~uint32_t{0};
  const auto* at = static_cast<const uint8_t*>(data);
  for (size_t i = 0; i < bytes; ++i) crc = crc >> 8 ^ kTable[(crc ^ at[i]) & 0xFF];
  return ~crc;
}

}  // namespace gt::trainer
