// The one place that reads clocks. Shells call it once per batch and hand the answer to the cores.
#pragma once
#include "common/base/time.h"

namespace gt {

// CLOCK_BOOTTIME and the wall clock, in milliseconds. Any thread; never fails.
Now ReadClock();

}  // namespace gt
