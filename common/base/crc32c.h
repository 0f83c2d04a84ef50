// CRC-32C (Castagnoli), by the processor's instruction where there is one.
#pragma once
#include <cstdint>
#include <string_view>

namespace gt {

uint32_t Crc32c(std::string_view bytes);
uint32_t Crc32cPortable(std::string_view bytes);  // the same without the instruction

}  // namespace gt
