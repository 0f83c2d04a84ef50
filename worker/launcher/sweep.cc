#include "worker/launcher/sweep.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "common/os/file.h"

namespace gt::launcher {

namespace {
bool Living(const ProcessStat& process) { return process.state != 'Z' && process.state != 'X'; }
constexpr int kStopPasses = 50;  // a fork bomb is stopped in a few; the caller repeats anyway

// The value of `name` in an environment as /proc shows it.
std::optional<std::string_view> Variable(std::string_view environment, std::string_view name) {
  while (!environment.empty()) {
    std::string_view entry = environment.substr(0, environment.find('\0'));
    environment.remove_prefix(std::min(entry.size() + 1, environment.size()));
    if (entry.starts_with(name) && entry.size() > name.size() && entry[name.size()] == '=') return entry.substr(name.size() + 1);
  }
  return std::nullopt;
}
}  // namespace

std::vector<ProcessStat> DescendantsOf(pid_t root, const std::set<pid_t>& but) {
  std::vector<ProcessStat> all = ListProcesses(), found;
  std::set<pid_t> family{root};
  // Parents may have higher pids than their children once pids wrap: repeat until nothing is added.
  for (size_t before = 0; before != family.size();) {
    before = family.size();
    for (const ProcessStat& process : all)
      if (family.count(process.parent) != 0 && but.count(process.pid) == 0) family.insert(process.pid);
  }
  for (const ProcessStat& process : all)
    if (process.pid != root && family.count(process.pid) != 0 && Living(process)) found.push_back(process);
  return found;
}

bool SignalExactly(const ProcessStat& process, int signal) {
  auto pidfd = OpenPidfd(process.pid);
  if (!pidfd.ok()) return false;
  auto now = StatOf(process.pid);
  return now.ok() && now->start_ticks == process.start_ticks && SignalPidfd(pidfd->get(), signal).ok();
}

size_t KillDescendants(pid_t root) {
  std::set<pid_t> stopped;
  std::vector<ProcessStat> found;
  for (int pass = 0; pass < kStopPasses; ++pass) {
    found = DescendantsOf(root);
    bool fresh = false;
    for (const ProcessStat& process : found) {
      if (!stopped.insert(process.pid).second) continue;
      fresh = true;
      SignalExactly(process, SIGSTOP);
    }
    if (!fresh) break;
  }
  for (const ProcessStat& process : found) SignalExactly(process, SIGKILL);
  return found.size();
}

std::vector<ProcessStat> ProcessesOfAttempt(const Uid& uid, const std::string& socket) {
  const std::string wanted = ToHex(uid);
  std::vector<ProcessStat> found;
  for (const ProcessStat& process : ListProcesses()) {
    if (process.pid == getpid() || !Living(process)) continue;
    auto environment = ReadFile("/proc/" + std::to_string(process.pid) + "/environ", 4 << 20);
    if (!environment.ok()) continue;
    std::optional<std::string_view> named = Variable(*environment, "GT_ATTEMPT_UID"), served = Variable(*environment, "GT_SOCKET");
    bool elsewhere = !socket.empty() && served && *served != socket;
    if (named == wanted && !elsewhere) found.push_back(process);
  }
  return found;
}

}  // namespace gt::launcher
