// What is left of a failing plan when everything is left out without which it still fails.
#pragma once
#include <string>

#include "tests/sim/simulation.h"

namespace gt::sim {

// Simulate in a process of its own: a broken assertion of ours ends only that. The failure, or empty.
std::string RunApart(const Plan& plan, const Options& options);

Plan Reduce(Plan plan, const Options& options);

// How to run it again, what failed, and the short schedule (reduced when asked for).
std::string Report(uint64_t seed, const std::string& failure, const Options& options, bool reduce);

}  // namespace gt::sim
