// The words that every room shares: phases, causes, budgets. One place for their names (as people and JSON see them).
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace gt {

enum class TaskState : uint8_t { kQueued, kActive, kSucceeded, kFailed, kCancelled };
inline bool IsFinal(TaskState s) { return s >= TaskState::kSucceeded; }

enum class AttemptPhase : uint8_t { kPlaced, kStarting, kRunning, kStopping, kEnded };

enum class RendezvousState : uint8_t { kForming, kReady, kClosed };

enum class NodeState : uint8_t { kUp, kUnseen, kLost };

// Why an attempt ended. It decides which budget the attempt is charged to.
enum class Cause : uint8_t {
  kNone,
  // user
  kExitNonzero, kSignaled, kOutOfMemory, kHung,
  // infra
  kNodeLost, kLaunchFailed, kRendezvousTimeout, kGpuFault, kInternal,
  // never charged
  kPreempted, kSpotReclaimed,
  // final
  kSucceeded, kCancelled, kTimeLimit,
};

enum class Budget : uint8_t { kUser, kInfra, kFree, kFinal };
constexpr Budget BudgetOf(Cause cause) {
  if (cause <= Cause::kHung) return Budget::kUser;
  if (cause <= Cause::kInternal) return Budget::kInfra;
  if (cause <= Cause::kSpotReclaimed) return Budget::kFree;
  return Budget::kFinal;
}

// Upper-case names, as in events, tables and JSON: "QUEUED", "NODE_LOST".
std::string_view Name(TaskState value);
std::string_view Name(AttemptPhase value);
std::string_view Name(RendezvousState value);
std::string_view Name(NodeState value);
std::string_view Name(Cause value);

// Exit code of a rank that means "checkpointed, run me again" (EX_TEMPFAIL).
constexpr int kExitRunAgain = 75;

// What gtctl, worker and coordinator speak; raised when a message changes its meaning.
constexpr uint32_t kProtocolVersion = 1;

// A rank that moves to another node goes on in its output streams at a multiple of this: (generation - 1) times.
constexpr uint64_t kMovedStream = 1ull << 32;

// Of one array. The store packs an index into 20 bits.
constexpr uint32_t kMaxArrayTasks = 100'000, kMaxArrayIndex = (1u << 20) - 1;

}  // namespace gt
