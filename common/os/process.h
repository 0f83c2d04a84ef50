// Processes. One is named by a pidfd or by (pid, start time, boot id), never by a pid alone: pids are reused. Any thread.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/os/fd.h"

namespace gt {

// /proc/sys/kernel/random/boot_id without the newline: another value means that the machine has booted since.
Result<std::string> BootId();

struct ProcessIdentity {
  pid_t pid = 0;
  uint64_t start_ticks = 0;  // since boot, /proc/<pid>/stat field 22
  std::string boot_id;
  bool operator==(const ProcessIdentity&) const = default;
};
Result<ProcessIdentity> IdentityOf(pid_t pid);  // kNotFound when there is no such process
// The very process lives (a zombie does not).
bool IsAlive(const ProcessIdentity& identity);

// What /proc/<pid>/stat tells. state is 'R', 'S', 'Z', ...
struct ProcessStat {
  pid_t pid = 0, parent = 0;
  char state = '?';
  uint64_t start_ticks = 0;
};
Result<ProcessStat> StatOf(pid_t pid);
std::vector<ProcessStat> ListProcesses();  // every process of this machine that could be read

Result<Fd> OpenPidfd(pid_t pid);
// kNotFound when it has been reaped.
Status SignalPidfd(int pidfd, int signal);
// Checks the identity after opening a pidfd, so the signal cannot reach a stranger. kNotFound when it is gone.
Status SignalProcess(const ProcessIdentity& identity, int signal);

// Starts a program with posix_spawn. The child has default signals, an empty signal mask and only fds 0, 1, 2 (others are
// close-on-exec by this project's rule). The caller reaps it.
struct SpawnOptions {
  std::vector<std::string> argv;  // argv[0] is looked up in PATH when it has no slash
  std::vector<std::string> env;   // "NAME=value"; with inherit_env it is added to ours
  bool inherit_env = true;
  bool new_session = false;       // setsid: a daemon that outlives its terminal
  int stdin_fd = -1, stdout_fd = -1, stderr_fd = -1;  // -1: /dev/null for stdin, inherited for the others
};
Result<pid_t> Spawn(const SpawnOptions& options);

// How a process ended, from waitpid's status.
struct ExitStatus {
  int code = 0;    // exit code, -1 when signalled
  int signal = 0;  // 0 when exited
  bool core = false;
};
ExitStatus DecodeWaitStatus(int wait_status);
// Blocks. kNotFound when it is not a child of ours.
Result<ExitStatus> WaitFor(pid_t pid);

}  // namespace gt
