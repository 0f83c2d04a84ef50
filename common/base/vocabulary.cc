#include "common/base/vocabulary.h"

#include <array>

namespace gt {
namespace {
template <typename Enum, size_t N>
std::string_view Pick(const std::array<std::string_view, N>& names, Enum value) {
  auto i = static_cast<size_t>(value);
  return i < N ? names[i] : "UNKNOWN";
}
constexpr std::array<std::string_view, 5> kTaskStates = {"QUEUED", "ACTIVE", "SUCCEEDED", "FAILED", "CANCELLED"};
constexpr std::array<std::string_view, 5> kPhases = {"PLACED", "STARTING", "RUNNING", "STOPPING", "ENDED"};
constexpr std::array<std::string_view, 3> kRendezvous = {"FORMING", "READY", "CLOSED"};
constexpr std::array<std::string_view, 3> kNodeStates = {"UP", "UNSEEN", "LOST"};
constexpr std::array<std::string_view, 15> kCauses = {
    "NONE",        "EXIT_NONZERO",  "SIGNALED",           "OUT_OF_MEMORY", "HUNG",
    "NODE_LOST",   "LAUNCH_FAILED", "RENDEZVOUS_TIMEOUT", "GPU_FAULT",     "INTERNAL",
    "PREEMPTED",   "SPOT_RECLAIMED", "SUCCEEDED",         "CANCELLED",     "TIME_LIMIT"};
}  // namespace

std::string_view Name(TaskState value) { return Pick(kTaskStates, value); }
std::string_view Name(AttemptPhase value) { return Pick(kPhases, value); }
std::string_view Name(RendezvousState value) { return Pick(kRendezvous, value); }
std::string_view Name(NodeState value) { return Pick(kNodeStates, value); }
std::string_view Name(Cause value) { return Pick(kCauses, value); }

}  // namespace gt
