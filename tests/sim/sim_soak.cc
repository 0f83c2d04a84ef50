// Runs seeds: `sim_soak --seed N` one of them, `--seconds S` as many as fit, from --from on; `--fleet` measures speed.
// A failing seed is reduced and its short schedule printed.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>

#include "tests/sim/reduce.h"
#include "tests/sim/simulation.h"

namespace gt::sim {
namespace {

struct Flags {
  uint64_t seed = 0, from = 1, count = UINT64_MAX;
  double seconds = 0;
  size_t fleet = 0;
  bool verbose = false, reduce = true;
  Canary canary = Canary::kNone;
};

bool Parse(int argc, char** argv, Flags* flags) {
  for (int i = 1; i < argc; ++i) {
    std::string flag = argv[i];
    if (flag == "--verbose") {
      flags->verbose = true;
      continue;
    }
    if (flag == "--no-reduce") {
      flags->reduce = false;
      continue;
    }
    if (i + 1 == argc) return false;
    std::string value = argv[++i];
    if (flag == "--seed")
      flags->seed = std::stoull(value);
    else if (flag == "--from")
      flags->from = std::stoull(value);
    else if (flag == "--count")
      flags->count = std::stoull(value);
    else if (flag == "--seconds")
      flags->seconds = std::stod(value);
    else if (flag == "--fleet")
      flags->fleet = std::stoul(value);
    else if (flag == "--canary")
      flags->canary = static_cast<Canary>(std::stoi(value));
    else
      return false;
  }
  return true;
}

double Since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int Fleet(const Flags& flags) {
  Plan plan = MakeFleetPlan(flags.from, flags.fleet, kHour);
  auto start = std::chrono::steady_clock::now();
  Outcome outcome = Simulate(plan, {.check_every = 1000});
  double took = Since(start);
  std::printf("%zu nodes, %zu jobs, %zu attempts, %llu turns: %.0f simulated seconds in %.2f s = %.0f per second %s\n",
              plan.nodes.size(), outcome.jobs, outcome.attempts, static_cast<unsigned long long>(outcome.turns),
              static_cast<double>(outcome.simulated) / 1000, took, static_cast<double>(outcome.simulated) / 1000 / took,
              outcome.failure.c_str());
  return outcome.failure.empty() ? 0 : 1;
}

int One(const Flags& flags) {
  Outcome outcome = Simulate(MakePlan(flags.seed), {.canary = flags.canary, .verbose = flags.verbose});
  std::printf("seed %llu: %s (%zu jobs, %zu attempts, %.0f simulated seconds)\n",
              static_cast<unsigned long long>(flags.seed), outcome.failure.empty() ? "ok" : outcome.failure.c_str(),
              outcome.jobs, outcome.attempts, static_cast<double>(outcome.simulated) / 1000);
  return outcome.failure.empty() ? 0 : 1;
}

int Many(const Flags& flags) {
  auto start = std::chrono::steady_clock::now();
  uint64_t seed = flags.from, failed = 0;
  for (; seed - flags.from < flags.count && (flags.seconds == 0 || Since(start) < flags.seconds); ++seed) {
    std::string failure = RunApart(MakePlan(seed), {.canary = flags.canary});
    if (failure.empty()) continue;
    ++failed;
    std::printf("%s\n", Report(seed, failure, {.canary = flags.canary}, flags.reduce).c_str());
    std::fflush(stdout);
  }
  std::printf("%llu seeds from %llu, %llu failed, %.1f s\n", static_cast<unsigned long long>(seed - flags.from),
              static_cast<unsigned long long>(flags.from), static_cast<unsigned long long>(failed), Since(start));
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace gt::sim

int main(int argc, char** argv) {
  gt::sim::Flags flags;
  if (!gt::sim::Parse(argc, argv, &flags)) {
    std::fprintf(stderr,
                 "usage: sim_soak [--seed N [--verbose]] [--from N] [--count N] [--seconds S] [--fleet NODES] "
                 "[--canary K] [--no-reduce]\n");
    return 2;
  }
  if (flags.fleet > 0) return gt::sim::Fleet(flags);
  return flags.seed != 0 ? gt::sim::One(flags) : gt::sim::Many(flags);
}
