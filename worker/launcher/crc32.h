// CRC-32 (IEEE 802.3, the one of zlib) for records and frame headers on disk.
#pragma once
#include <cstdint>
#include <string_view>

namespace gt::launcher {

uint32_t Crc32(std::string_view bytes);

}  // namespace gt::launcher
