// All that will happen from outside in one simulated run: the fleet, the jobs and what is done with them, the faults.
// Made from a seed; a failing plan is reduced by leaving parts of it out (reduce.h).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/base/rng.h"
#include "common/base/time.h"

namespace gt::sim {

struct NodePlan {
  int32_t cpus = 8, gpus = 0;
};

enum class FaultKind : uint8_t {
  kStreamBreak,      // what is in flight is lost
  kPartition,        // nothing gets through, either way
  kDeafCoordinator,  // nothing gets through from the node
  kDeafNode,         // nothing gets through to the node
  kSlowNetwork,      // messages take up to `amount`
  kCoordinatorCrash,
  kCrashInCommit,     // at some write of the next commit
  kCrashAfterCommit,  // it is on disk, nobody has been told
  kLoopStall,
  kDiskFull,
  kCoordinatorClock,  // its wall clock jumps by `amount`
  kNodeClock,
  kWorkerCrash,
  kWorkerStall,  // SIGSTOP, SIGCONT
  kLauncherCrash,
  kReboot,    // of a node
  kWipe,      // the same, and it comes back with an empty disk
  kGpusGone,  // the node finds only half of its GPUs for a while
};
constexpr int kFaultKinds = static_cast<int>(FaultKind::kGpusGone) + 1;
const char* Name(FaultKind kind);

struct Fault {
  Millis at = 0;
  FaultKind kind = FaultKind::kStreamBreak;
  size_t node = 0;  // where the kind is about one
  Millis lasts = 0;
  int64_t amount = 0;
};

// What a job's ranks do.
enum class Nature : uint8_t {
  kSteady,     // exits 0
  kFlaky,      // one member of every other attempt fails
  kFailing,    // one member always fails; the others wait for it until they are stopped
  kEndless,    // runs until it is stopped
  kStubborn,   // steady or stopped; ignores SIGTERM and takes its time to die
  kAgain,      // exits 75 with progress, twice
  kBadLaunch,  // every other attempt cannot be started
  kSkewed,     // one member exits 0, the others go on for ever
  kMortal,     // ranks form groups, die now and then, and re-form
};
constexpr int kNatures = static_cast<int>(Nature::kMortal) + 1;
const char* Name(Nature nature);

struct JobPlan {
  Millis at = 0;  // when it is submitted
  uint64_t seed = 0;
  Nature nature = Nature::kSteady;
  int32_t nodes = 1, cpus = 1, gpus = 0;
  uint32_t tasks = 1;  // more than 1: an array
  int32_t priority = 50;
  int32_t user_retries = 0;
  bool contract = false;  // ranks speak the rank contract
  Millis longest = 30 * kSecond;
  Millis grace = 5 * kSecond;
  Millis time_limit = 0, stop_after = 0;  // 0: none
  Millis cancel_after = -1;               // of the submission; -1: never
  bool cancel_one = false;                // only task 0
};

struct DrainPlan {
  Millis at = 0;
  size_t node = 0;
  Millis lasts = 0;
};

struct Plan {
  uint64_t seed = 0;
  bool gentle = false;       // only faults that no running job may notice
  Millis longest_delay = 5;  // of a message when nothing is slow
  std::vector<NodePlan> nodes;
  std::vector<JobPlan> jobs;
  std::vector<DrainPlan> drains;
  std::vector<Fault> faults;
  Millis quiet_at = 0;  // no fault lasts beyond
};

Plan MakePlan(uint64_t seed);
// For measuring speed: `nodes` nodes, a steady stream of jobs for `lasts`, few faults.
Plan MakeFleetPlan(uint64_t seed, size_t nodes, Millis lasts);
std::string ToText(const Plan& plan);

// What one rank of one attempt does.
struct Fate {
  bool launch_fails = false;
  Millis exec_takes = 0;
  Millis runs = kNever;  // from exec to its end by itself
  int32_t code = 0, signal = 0;
  bool ignores_term = false;
  Millis dies_in = 0;  // from SIGKILL (or SIGTERM that it does not ignore) to its end
  bool progresses = false;
  bool meets = false;  // `runs` counts only while all ranks stand in one group
};
Fate FateOf(const JobPlan& job, uint32_t index, uint32_t number, uint32_t group_rank);

// When and how a process of a rank that meets dies by itself: after its start; kNever: not.
struct Death {
  Millis after = kNever;
  int32_t code = 0, signal = 0;
};
Death DeathOf(const JobPlan& job, uint32_t index, uint32_t number, uint32_t group_rank, Generation born);

}  // namespace gt::sim
