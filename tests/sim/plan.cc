#include "tests/sim/plan.h"

#include <algorithm>

#include "common/base/units.h"

namespace gt::sim {
namespace {

constexpr const char* kFaultNames[kFaultKinds] = {
    "stream-break", "partition",         "deaf-coordinator",  "deaf-node",
    "slow-network", "coordinator-crash", "crash-in-commit",   "crash-after-commit",
    "loop-stall",   "disk-full",         "coordinator-clock", "node-clock",
    "worker-crash", "worker-stall",      "launcher-crash",    "reboot",
    "wipe",         "gpus-gone"};
constexpr const char* kNatureNames[kNatures] = {"steady",   "flaky", "failing",    "endless",
                                                "stubborn", "again", "bad-launch", "skewed", "mortal"};

Millis Between(Rng& rng, Millis low, Millis high) {
  return low + static_cast<Millis>(rng.Below(static_cast<uint64_t>(high - low) + 1));
}

// Short far more often than long.
Millis Skewed(Rng& rng, Millis longest) {
  Millis limit = longest >> rng.Below(10);
  return Between(rng, 0, std::max<Millis>(limit, 1));
}

bool IsGentle(FaultKind kind) {
  switch (kind) {
    case FaultKind::kStreamBreak:
    case FaultKind::kCoordinatorCrash:
    case FaultKind::kCrashInCommit:
    case FaultKind::kCrashAfterCommit:
    case FaultKind::kLoopStall:
    case FaultKind::kDiskFull:
    case FaultKind::kCoordinatorClock:
    case FaultKind::kNodeClock:
    case FaultKind::kWorkerCrash:
      return true;
    default:
      return false;
  }
}

Millis LongestOf(FaultKind kind, bool gentle) {
  switch (kind) {
    case FaultKind::kWorkerCrash:
      return gentle ? kSecond : 3 * kMinute;
    case FaultKind::kCoordinatorCrash:
    case FaultKind::kCrashInCommit:
    case FaultKind::kCrashAfterCommit:
      return gentle ? 20 * kSecond : 3 * kMinute;
    case FaultKind::kLoopStall:
      return gentle ? 20 * kSecond : kMinute;
    case FaultKind::kReboot:
    case FaultKind::kWipe:
      return 3 * kMinute;
    case FaultKind::kLauncherCrash:
      return 20 * kSecond;
    default:
      return gentle ? 20 * kSecond : 2 * kMinute;
  }
}

// A crash in a commit is of interest when somebody waits for it.
Millis WhenOf(Rng& rng, FaultKind kind, const std::vector<JobPlan>& jobs, Millis until) {
  bool commit = kind == FaultKind::kCrashInCommit || kind == FaultKind::kCrashAfterCommit;
  if (!commit || rng.OneIn(2)) return Between(rng, kSecond, until);
  return std::max<Millis>(jobs[rng.Below(jobs.size())].at, kSecond);
}

Fault MakeFault(Rng& rng, FaultKind kind, size_t nodes, const std::vector<JobPlan>& jobs, Millis until, bool gentle) {
  Fault fault{.at = WhenOf(rng, kind, jobs, until), .kind = kind, .node = rng.Below(nodes)};
  fault.lasts = Skewed(rng, LongestOf(kind, gentle));
  if (kind == FaultKind::kSlowNetwork) fault.amount = Skewed(rng, 8 * kSecond) + 10;
  if (kind == FaultKind::kCrashInCommit) fault.amount = static_cast<int64_t>(rng.Below(12));
  if (kind == FaultKind::kCoordinatorClock || kind == FaultKind::kNodeClock) {
    Millis jump = rng.OneIn(2) ? kHour : 2 * 365 * 24 * kHour;
    fault.amount = rng.OneIn(2) ? jump : -jump;
  }
  return fault;
}

// A storm: all within ten seconds.
void Gather(Rng& rng, Millis until, std::vector<Fault>* faults) {
  Millis at = Between(rng, kSecond, until);
  for (Fault& fault : *faults) fault.at = at + Between(rng, 0, 10 * kSecond);
}

NodePlan MakeNode(Rng& rng) {
  NodePlan node{.cpus = static_cast<int32_t>(Between(rng, 2, 8))};
  if (rng.OneIn(2)) node.gpus = static_cast<int32_t>(Between(rng, 1, 4));
  return node;
}

// Fits the fleet, so that it must end.
void ShapeJob(Rng& rng, const std::vector<NodePlan>& nodes, JobPlan* job) {
  const NodePlan& model = nodes[rng.Below(nodes.size())];
  job->cpus = static_cast<int32_t>(Between(rng, 1, model.cpus));
  if (model.gpus > 0 && !rng.OneIn(3)) job->gpus = static_cast<int32_t>(Between(rng, 1, model.gpus));
  auto fit = std::count_if(nodes.begin(), nodes.end(),
                           [&](const NodePlan& n) { return n.cpus >= job->cpus && n.gpus >= job->gpus; });
  if (rng.OneIn(2)) job->nodes = static_cast<int32_t>(Between(rng, 1, std::min<Millis>(fit, 4)));
}

JobPlan MakeJob(Rng& rng, const std::vector<NodePlan>& nodes, Millis until, bool gentle) {
  JobPlan job{.at = Skewed(rng, until),
              .seed = rng.Next(),
              .priority = static_cast<int32_t>(rng.OneIn(3) ? rng.Below(101) : 50)};
  job.nature = static_cast<Nature>(rng.Below(kNatures));
  if (rng.OneIn(3)) job.nature = Nature::kSteady;
  if (gentle && job.nature == Nature::kBadLaunch) job.nature = Nature::kFlaky;
  ShapeJob(rng, nodes, &job);
  if (rng.OneIn(5)) job.tasks = static_cast<uint32_t>(Between(rng, 2, 12));
  job.user_retries = static_cast<int32_t>(rng.Below(4));
  job.contract = rng.OneIn(3) || job.nature == Nature::kMortal;
  if (job.nature == Nature::kMortal) job.user_retries += 3;
  job.longest = Skewed(rng, 4 * kMinute) + 100;
  job.grace = Skewed(rng, 20 * kSecond);
  if (rng.OneIn(6)) job.time_limit = job.grace + Skewed(rng, 2 * kMinute) + kSecond;
  if (!gentle && rng.OneIn(4)) job.stop_after = 10 * kSecond + Skewed(rng, kMinute);
  bool endless = job.nature == Nature::kEndless && job.time_limit == 0;
  if (endless || rng.OneIn(4)) {
    job.cancel_after = Skewed(rng, 5 * kMinute);
    job.cancel_one = !endless && job.tasks > 1 && rng.OneIn(2);
  }
  return job;
}

std::string Text(const JobPlan& job) {
  std::string text = "job at " + HumanDuration(job.at) + " (" + std::to_string(job.at) + " ms): " + Name(job.nature) +
                     ", " + std::to_string(job.nodes) + " nodes with " + std::to_string(job.cpus) + " CPUs, " +
                     std::to_string(job.gpus) + " GPUs, at most " + FormatDuration(job.longest) + ", grace " +
                     FormatDuration(job.grace) + ", retries " + std::to_string(job.user_retries);
  if (job.tasks > 1) text += ", " + std::to_string(job.tasks) + " tasks";
  if (job.contract) text += ", contract";
  if (job.time_limit > 0) text += ", time limit " + FormatDuration(job.time_limit);
  if (job.stop_after > 0) text += ", stop_after " + FormatDuration(job.stop_after);
  if (job.cancel_after >= 0)
    text += ", " + std::string(job.cancel_one ? "task 0 " : "") + "cancelled after " + FormatDuration(job.cancel_after);
  return text;
}

}  // namespace

const char* Name(FaultKind kind) { return kFaultNames[static_cast<size_t>(kind)]; }
const char* Name(Nature nature) { return kNatureNames[static_cast<size_t>(nature)]; }

Plan MakePlan(uint64_t seed) {
  Rng rng(Rng(seed).Next());  // mixed, or the next seed but one would be the same run, shifted
  Plan plan{.seed = seed};
  plan.gentle = rng.OneIn(4);
  plan.longest_delay = plan.gentle ? 20 : Skewed(rng, 400) + 1;
  for (uint64_t i = 2 + rng.Below(6); i > 0; --i) plan.nodes.push_back(MakeNode(rng));
  Millis until = Between(rng, kMinute, 12 * kMinute);
  for (uint64_t i = 1 + rng.Below(24); i > 0; --i) plan.jobs.push_back(MakeJob(rng, plan.nodes, until, plan.gentle));
  for (uint64_t i = rng.Below(3); i > 0; --i)
    plan.drains.push_back({Between(rng, 0, until), rng.Below(plan.nodes.size()), Skewed(rng, 5 * kMinute)});
  // A run knows only some kinds of faults, or the worst of them would hide what the others alone can show.
  std::vector<FaultKind> kinds;
  for (int i = 0; i < kFaultKinds; ++i)
    if (rng.OneIn(3) && (!plan.gentle || IsGentle(static_cast<FaultKind>(i))))
      kinds.push_back(static_cast<FaultKind>(i));
  if (!kinds.empty())
    for (uint64_t i = rng.Below(24); i > 0; --i)
      plan.faults.push_back(
          MakeFault(rng, kinds[rng.Below(kinds.size())], plan.nodes.size(), plan.jobs, until, plan.gentle));
  if (rng.OneIn(4)) Gather(rng, until, &plan.faults);
  plan.quiet_at = until + 4 * kMinute;
  return plan;
}

Plan MakeFleetPlan(uint64_t seed, size_t nodes, Millis lasts) {
  Rng rng(seed);
  Plan plan{.seed = seed, .longest_delay = 5};
  for (size_t i = 0; i < nodes; ++i) plan.nodes.push_back({.cpus = 8, .gpus = 4});
  for (Millis at = 0; at < lasts; at += 10 * kSecond) {
    JobPlan job = MakeJob(rng, plan.nodes, 1, true);
    job.at = at;
    plan.jobs.push_back(job);
  }
  for (Millis at = kMinute; at < lasts; at += kMinute) {
    Fault fault = MakeFault(rng, static_cast<FaultKind>(rng.Below(kFaultKinds)), nodes, plan.jobs, lasts, true);
    fault.at = at;
    plan.faults.push_back(fault);
  }
  plan.quiet_at = lasts;
  return plan;
}

std::string ToText(const Plan& plan) {
  std::string text = std::to_string(plan.nodes.size()) + " nodes, messages take up to " +
                     std::to_string(plan.longest_delay) + " ms" + (plan.gentle ? ", gentle" : "") + "\n";
  for (const NodePlan& node : plan.nodes)
    text += "  node with " + std::to_string(node.cpus) + " CPUs, " + std::to_string(node.gpus) + " GPUs\n";
  for (const JobPlan& job : plan.jobs) text += "  " + Text(job) + "\n";
  for (const DrainPlan& drain : plan.drains)
    text += "  drain at " + std::to_string(drain.at) + " ms: n" + std::to_string(drain.node) + " for " +
            FormatDuration(drain.lasts) + "\n";
  for (const Fault& fault : plan.faults)
    text += "  fault at " + std::to_string(fault.at) + " ms: " + Name(fault.kind) + " n" + std::to_string(fault.node) +
            " for " + FormatDuration(fault.lasts) + (fault.amount != 0 ? " by " + std::to_string(fault.amount) : "") +
            "\n";
  return text;
}

Fate FateOf(const JobPlan& job, uint32_t index, uint32_t number, uint32_t group_rank) {
  Rng of_attempt(Rng(job.seed + index * 1000003ull + number * 7919ull).Next());
  bool every_other = of_attempt.OneIn(2);
  bool chosen = of_attempt.Below(static_cast<uint64_t>(job.nodes)) == group_rank;
  Millis base = Between(of_attempt, 50, job.longest + 50);
  int32_t signal = of_attempt.OneIn(3) ? 11 : 0;
  Rng of_rank(Rng(job.seed ^ (index * 104729ull + number * 1299709ull + group_rank * 15485863ull)).Next());
  Fate fate{.exec_takes = Skewed(of_rank, 2 * kSecond),
            .runs = base + Skewed(of_rank, kSecond),
            .dies_in = Skewed(of_rank, 500)};
  fate.progresses = job.contract;
  bool fails = job.nature == Nature::kFailing || (job.nature == Nature::kFlaky && every_other);
  if (fails && chosen) fate.signal = signal, fate.code = signal == 0 ? 1 : 0;
  if (fails && !chosen) fate.runs = kNever;
  if (job.nature == Nature::kEndless) fate.runs = kNever;
  if (job.nature == Nature::kSkewed && !chosen) fate.runs = kNever;
  if (job.nature == Nature::kStubborn) fate.ignores_term = true, fate.dies_in = Skewed(of_rank, kMinute);
  if (job.nature == Nature::kAgain && number <= 2) fate.code = 75, fate.progresses = true;
  fate.meets = job.nature == Nature::kMortal && job.contract;
  if (fate.meets) fate.runs = base;
  fate.launch_fails = job.nature == Nature::kBadLaunch && every_other && chosen;
  return fate;
}

Death DeathOf(const JobPlan& job, uint32_t index, uint32_t number, uint32_t group_rank, Generation born) {
  Rng rng(Rng(job.seed ^ (index * 15485863ull + number * 104729ull + group_rank * 1299709ull + born.value * 7919ull)).Next());
  Death death;
  if (rng.OneIn(2)) return death;
  death.after = Skewed(rng, job.longest);
  if (rng.OneIn(2)) death.signal = 9;
  else death.code = 1;
  return death;
}

}  // namespace gt::sim
