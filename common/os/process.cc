#include "common/os/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "common/os/file.h"

extern char** environ;

namespace gt {

Result<std::string> BootId() {
  GT_ASSIGN_OR_RETURN(std::string text, ReadFile("/proc/sys/kernel/random/boot_id", 256));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

Result<ProcessStat> StatOf(pid_t pid) {
  GT_ASSIGN_OR_RETURN(std::string text, ReadFile("/proc/" + std::to_string(pid) + "/stat", 8192));
  ProcessStat stat;
  stat.pid = pid;
  unsigned long long start = 0;
  size_t name_end = text.rfind(')');  // the name may hold anything, parentheses too
  if (name_end == std::string::npos ||
      sscanf(text.c_str() + name_end + 1,
             " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &stat.state,
             &stat.parent, &start) != 3) {
    return Status(Code::kInternal, "/proc/" + std::to_string(pid) + "/stat: not understood");
  }
  stat.start_ticks = start;
  return stat;
}

std::vector<ProcessStat> ListProcesses() {
  std::vector<ProcessStat> result;
  auto names = ListDirectory("/proc");
  if (!names.ok()) return result;
  for (const std::string& name : *names) {
    if (name[0] < '1' || name[0] > '9') continue;
    auto stat = StatOf(static_cast<pid_t>(strtol(name.c_str(), nullptr, 10)));
    if (stat.ok()) result.push_back(*stat);
  }
  return result;
}

Result<ProcessIdentity> IdentityOf(pid_t pid) {
  auto stat = StatOf(pid);
  // A process that ends while its file is read answers ESRCH.
  if (!stat.ok()) return Status(Code::kNotFound, "process " + std::to_string(pid) + " is gone");
  GT_ASSIGN_OR_RETURN(std::string boot, BootId());
  return ProcessIdentity{pid, stat->start_ticks, boot};
}

bool IsAlive(const ProcessIdentity& identity) {
  auto stat = StatOf(identity.pid);
  if (!stat.ok() || stat->state == 'Z' || stat->state == 'X' || stat->start_ticks != identity.start_ticks) return false;
  auto boot = BootId();
  return boot.ok() && *boot == identity.boot_id;
}

Result<Fd> OpenPidfd(pid_t pid) {
  int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (fd >= 0) return Fd(fd);
  if (errno == ESRCH) return Status(Code::kNotFound, "process " + std::to_string(pid) + " is gone");
  return ErrnoStatus(errno, "pidfd_open");
}

Status SignalPidfd(int pidfd, int signal) {
  if (syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0) == 0) return OkStatus();
  if (errno == ESRCH) return Status(Code::kNotFound, "process is gone");
  return ErrnoStatus(errno, "pidfd_send_signal");
}

Status SignalProcess(const ProcessIdentity& identity, int signal) {
  GT_ASSIGN_OR_RETURN(Fd pidfd, OpenPidfd(identity.pid));
  if (!IsAlive(identity)) return Status(Code::kNotFound, "process " + std::to_string(identity.pid) + " is gone");
  return SignalPidfd(pidfd.get(), signal);
}

namespace {
std::vector<char*> Pointers(const std::vector<std::string>& words, char** more) {
  std::vector<char*> result;
  for (const std::string& word : words) result.push_back(const_cast<char*>(word.c_str()));
  for (; more != nullptr && *more != nullptr; ++more) result.push_back(*more);
  result.push_back(nullptr);
  return result;
}

void DefaultSignals(posix_spawnattr_t* attributes, bool new_session) {
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(attributes, &none);
  posix_spawnattr_setsigdefault(attributes, &all);
  int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
  if (new_session) flags |= POSIX_SPAWN_SETSID;
  posix_spawnattr_setflags(attributes, static_cast<short>(flags));
}
}  // namespace

Result<pid_t> Spawn(const SpawnOptions& options) {
  if (options.argv.empty()) return Status(Code::kInvalidArgument, "nothing to start");
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  DefaultSignals(&attributes, options.new_session);
  if (options.stdin_fd < 0) {
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  } else {
    posix_spawn_file_actions_adddup2(&actions, options.stdin_fd, 0);
  }
  if (options.stdout_fd >= 0) posix_spawn_file_actions_adddup2(&actions, options.stdout_fd, 1);
  if (options.stderr_fd >= 0) posix_spawn_file_actions_adddup2(&actions, options.stderr_fd, 2);
  // The first of two equal names wins in getenv, so what was given stands before what is inherited.
  std::vector<char*> argv = Pointers(options.argv, nullptr);
  std::vector<char*> env = Pointers(options.env, options.inherit_env ? environ : nullptr);
  pid_t pid = 0;
  int error = posix_spawnp(&pid, argv[0], &actions, &attributes, argv.data(), env.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return ErrnoStatus(error, "start " + options.argv[0]);
  return pid;
}

ExitStatus DecodeWaitStatus(int wait_status) {
  if (WIFEXITED(wait_status)) return {WEXITSTATUS(wait_status), 0, false};
  return {-1, WTERMSIG(wait_status), static_cast<bool>(WCOREDUMP(wait_status))};
}

Result<ExitStatus> WaitFor(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno == ECHILD) return Status(Code::kNotFound, "process " + std::to_string(pid) + " is not a child");
    if (errno != EINTR) return ErrnoStatus(errno, "waitpid");
  }
  return DecodeWaitStatus(status);
}

}  // namespace gt
