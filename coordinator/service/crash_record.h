// How often the coordinator has crashed of late. A crash is its own doing: a failed assertion, a bad memory access, a commit
// that could not be kept. What others do to it (SIGKILL, SIGTERM, loss of power) is none.
#pragma once
#include <string>

#include "common/base/status.h"
#include "common/base/time.h"

namespace gt {

inline constexpr int kHoldAfterCrashes = 3;
inline constexpr Millis kHoldWithin = 60 * kSecond;

// Why a coordinator on this data directory should change nothing for now; empty unless it has crashed kHoldAfterCrashes times
// within kHoldWithin of `wall`. Forgets older crashes.
std::string HoldAfterCrashes(const std::string& data_dir, Millis wall);

// From now on the signals by which programs crash are noted in `<data_dir>/crashes`, one line each: seconds since 1970. Then they
// do what they did before. Once a process, which must hold the directory.
Status RecordCrashes(const std::string& data_dir);
// Notes one that ends without a signal. Async-signal-safe; nothing before RecordCrashes.
void NoteCrash();

}  // namespace gt
