// Text that is too long for its place.
#pragma once
#include <cstddef>
#include <string_view>

namespace gt {

// The longest front of `text` of at most `bytes` that does not end inside a character of UTF-8.
inline std::string_view CutText(std::string_view text, size_t bytes) {
  constexpr size_t kMostContinuations = 3;
  if (text.size() <= bytes) return text;
  size_t end = bytes;
  while (end > 0 && bytes - end < kMostContinuations && (text[end] & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

}  // namespace gt
