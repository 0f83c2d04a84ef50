// Time as this project counts it. Logic never reads a clock: it is given Now.
#pragma once
#include <cstdint>
#include <limits>

namespace gt {

// Milliseconds. Durations and instants are plain int64 counts in the finest unit that any rule needs.
using Millis = int64_t;
constexpr Millis kSecond = 1000;
constexpr Millis kMinute = 60 * kSecond;
constexpr Millis kHour = 60 * kMinute;
constexpr Millis kNever = std::numeric_limits<Millis>::max();

// One reading of both clocks, taken once per batch. `mono` (CLOCK_BOOTTIME: counts suspend) decides every deadline and
// is meaningless in another boot; `wall` (UTC since 1970) is only recorded and shown.
struct Now {
  Millis mono = 0;
  Millis wall = 0;
};

}  // namespace gt
