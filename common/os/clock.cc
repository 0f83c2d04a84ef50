#include "common/os/clock.h"

#include <time.h>

namespace gt {

namespace {
Millis ReadMillis(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<Millis>(t.tv_sec) * 1000 + t.tv_nsec / 1'000'000;
}
}  // namespace

Now ReadClock() { return Now{ReadMillis(CLOCK_BOOTTIME), ReadMillis(CLOCK_REALTIME)}; }

}  // namespace gt
