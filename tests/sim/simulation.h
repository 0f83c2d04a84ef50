// One run of one plan: builds the cluster, lets everything happen, and judges it.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tests/sim/clients.h"
#include "tests/sim/coordinator.h"
#include "tests/sim/network.h"
#include "tests/sim/node.h"
#include "tests/sim/oracle.h"
#include "tests/sim/plan.h"

namespace gt::sim {

struct Options {
  Canary canary = Canary::kNone;
  bool verbose = false;
  uint64_t check_every = 1;     // turns between two checks of the invariants
  Millis patience = 3 * kHour;  // after the faults, until everything must have ended
};

struct Outcome {
  std::string failure;  // empty: all was well
  Millis simulated = 0;
  size_t jobs = 0, attempts = 0;
  uint64_t turns = 0, starts = 0;
};

Outcome Simulate(const Plan& plan, const Options& options);

}  // namespace gt::sim
