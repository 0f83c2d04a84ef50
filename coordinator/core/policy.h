// The rules' numbers. They come from the configuration; tests and the simulator set their own.
#pragma once
#include <cstdint>

#include "common/base/time.h"

namespace gt {

struct Policy {
  Millis beat = 2 * kSecond;
  Millis node_lost_after = 30 * kSecond;
  Millis fail_grace = 300;
  Millis placement_wait = 1 * kSecond;    // after a start, for nodes that were up
  Millis reform_timeout = 120 * kSecond;  // a rank has died to all ranks joined again; 0: a death ends the gang
  Millis start_timeout = 120 * kSecond;   // placed to running
  Millis stop_margin = 30 * kSecond;      // STOPPING lasts at most grace + this
  Millis fence_margin = 10 * kSecond;     // after stop_after and grace, before a lost task starts elsewhere
  Millis exit_skew = 10 * kMinute;        // first member done to last member done
  Millis retry_backoff = 1 * kSecond;
  Millis retry_backoff_max = 300 * kSecond;
  Millis mass_loss_hold = 5 * kMinute;    // verdicts held when most nodes vanish at once
  uint32_t max_attempts = 1000;           // ends any loop
  uint32_t sweep_batch = 4096;            // tasks counted off, and tasks placed, a batch
  Millis suspect_after() const { return 3 * beat; }
};

constexpr Millis kInfraWindow = 24 * kHour;

}  // namespace gt
