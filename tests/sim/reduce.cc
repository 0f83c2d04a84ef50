#include "tests/sim/reduce.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace gt::sim {
namespace {

constexpr rlim_t kLongestRun = 120;  // seconds of CPU

[[noreturn]] void Child(const Plan& plan, const Options& options, int out) {
  rlimit limit{kLongestRun, kLongestRun};
  setrlimit(RLIMIT_CPU, &limit);
  rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if (!options.verbose) dup2(out, STDERR_FILENO);  // what an assertion says is the failure
  std::string failure = Simulate(plan, options).failure;
  if (write(out, failure.data(), failure.size()) < 0) _exit(1);
  _exit(0);
}

// Leaves out runs of parts, from long to short, as long as it goes on failing.
template <typename Part>
void Thin(std::vector<Part>* parts, const std::function<bool()>& fails) {
  for (size_t size = (parts->size() + 1) / 2; size >= 1; size /= 2) {
    for (size_t at = 0; at < parts->size();) {
      std::vector<Part> all = *parts;
      auto first = parts->begin() + static_cast<long>(at);
      parts->erase(first, first + static_cast<long>(std::min(size, parts->size() - at)));
      if (fails()) continue;
      *parts = std::move(all);
      at += size;
    }
  }
}

template <typename Value>
void Simplify(Value* value, Value simple, const std::function<bool()>& fails) {
  if (*value == simple) return;
  Value old = std::exchange(*value, simple);
  if (!fails()) *value = old;
}

}  // namespace

std::string RunApart(const Plan& plan, const Options& options) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "no pipe";
  fflush(nullptr);
  pid_t child = fork();
  if (child == 0) Child(plan, options, ends[1]);
  close(ends[1]);
  std::string said;
  char buffer[4096];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;) said.append(buffer, static_cast<size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return "died by signal " + std::to_string(WTERMSIG(status)) + ": " + said;
  return said;
}

Plan Reduce(Plan plan, const Options& options) {
  std::function<bool()> fails = [&] { return !RunApart(plan, options).empty(); };
  for (size_t before = SIZE_MAX, now = plan.faults.size() + plan.jobs.size(); now < before;) {
    before = now;
    Thin(&plan.faults, fails);
    Thin(&plan.drains, fails);
    Thin(&plan.jobs, fails);
    now = plan.faults.size() + plan.jobs.size();
  }
  Simplify<Millis>(&plan.longest_delay, 5, fails);
  for (JobPlan& job : plan.jobs) {
    Simplify<uint32_t>(&job.tasks, 1, fails);
    Simplify<int32_t>(&job.nodes, 1, fails);
    Simplify<int32_t>(&job.gpus, 0, fails);
    Simplify<bool>(&job.contract, false, fails);
    if (job.nature != Nature::kEndless) Simplify<Millis>(&job.cancel_after, -1, fails);
    if (job.nature != Nature::kEndless) Simplify<Nature>(&job.nature, Nature::kSteady, fails);
  }
  return plan;
}

std::string Report(uint64_t seed, const std::string& failure, const Options& options, bool reduce) {
  std::string text = "seed " + std::to_string(seed) + " failed " + failure + "\nreplay: sim_soak --seed " +
                     std::to_string(seed) + " --verbose\n";
  if (!reduce) return text;
  Plan plan = Reduce(MakePlan(seed), options);
  return text + "reduced to: " + RunApart(plan, options) + "\n" + ToText(plan);
}

}  // namespace gt::sim
