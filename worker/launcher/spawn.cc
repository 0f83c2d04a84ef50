#include "worker/launcher/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/os/file.h"

#ifndef CLONE_CLEAR_SIGHAND
#define CLONE_CLEAR_SIGHAND 0x100000000ULL
#endif
#ifndef CLONE_INTO_CGROUP
#define CLONE_INTO_CGROUP 0x200000000ULL
#endif
#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1U << 1)
#endif
#define GT_CHILD __attribute__((no_sanitize("address", "undefined", "thread"), noinline))

namespace gt::launcher {

namespace {
constexpr size_t kStackSize = 64 << 10;

enum class Step { kNone, kSession, kStreams, kMemory, kUser, kWorkdir, kExec };

// Shared with the child until it execs; the parent sleeps meanwhile.
struct ChildArgs {
  const char* const* paths;
  char* const* argv;
  char* const* env;
  const char* workdir;
  const JobUser* user;
  const InheritedLimits* limits;
  bool enter_memory;
  Step failed = Step::kNone;
  int error = 0;
};

GT_CHILD void Fail(ChildArgs* args, Step step) {
  args->error = errno;
  args->failed = step;
  _exit(127);
}

// Raw calls: the wrappers of glibc would change the user of the launcher's own threads.
GT_CHILD void BecomeUser(ChildArgs* args) {
  const JobUser& user = *args->user;
  if (!user.change) return;
  if (syscall(SYS_setgroups, user.groups.size(), user.groups.data()) != 0 ||
      syscall(SYS_setresgid, user.gid, user.gid, user.gid) != 0 ||
      syscall(SYS_setresuid, user.uid, user.uid, user.uid) != 0) {
    Fail(args, Step::kUser);
  }
}

GT_CHILD void ResetOomScore() {
  int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  if (write(fd, "0", 1) != 1) errno = 0;  // lowering it needs a privilege that we may not have; harmless
  close(fd);
}

GT_CHILD void TryExec(ChildArgs* args) {
  int error = ENOENT;
  for (const char* const* path = args->paths; *path != nullptr; ++path) {
    execve(*path, args->argv, args->env);
    if (errno != ENOENT && errno != ENOTDIR) error = errno;
  }
  errno = error;
  Fail(args, Step::kExec);
}

GT_CHILD int ChildMain(void* argument) {
  auto* args = static_cast<ChildArgs*>(argument);
  // Until this succeeds the descriptors are the launcher's: touch none.
  unsigned first_other = kFirstSpawnFd + kSpawnFds;
  if (syscall(SYS_close_range, first_other, ~0u, CLOSE_RANGE_UNSHARE) != 0) Fail(args, Step::kStreams);
  if (setsid() < 0) Fail(args, Step::kSession);
  for (int i = 0; i < 3; ++i)
    if (dup2(kFirstSpawnFd + i, i) < 0) Fail(args, Step::kStreams);
  if (args->enter_memory && write(kFirstSpawnFd + 3, "0", 1) != 1) Fail(args, Step::kMemory);
  if (args->limits->reset_oom_score) ResetOomScore();
  syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &args->limits->files, nullptr);
  umask(022);
  BecomeUser(args);
  if (chdir(args->workdir) != 0) Fail(args, Step::kWorkdir);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = SIG_DFL;  // CLONE_CLEAR_SIGHAND leaves what we ignore ignored
  sigaction(SIGPIPE, &action, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  TryExec(args);
  return 127;
}

// The child starts in `entry` on the stack in `args`, the parent returns its pid or -errno.
long CloneOnStack(clone_args* args, int (*entry)(void*), void* argument) {
#if defined(__x86_64__)
  long result = SYS_clone3;
  asm volatile(
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xor %%ebp, %%ebp\n\t"
      "mov %[argument], %%rdi\n\t"
      "call *%[entry]\n\t"
      "ud2\n"
      "1:"
      : "+a"(result)
      : "D"(args), "S"(sizeof *args), [entry] "r"(entry), [argument] "r"(argument)
      : "rcx", "r11", "memory", "cc");
  return result;
#elif defined(__aarch64__)
  register long number asm("x8") = SYS_clone3;
  register long result asm("x0") = reinterpret_cast<long>(args);
  register long size asm("x1") = sizeof *args;
  asm volatile(
      "svc #0\n\t"
      "cbnz x0, 1f\n\t"
      "mov x29, xzr\n\t"
      "mov x0, %[argument]\n\t"
      "blr %[entry]\n\t"
      "brk #1\n"
      "1:"
      : "+r"(result)
      : "r"(number), "r"(size), [entry] "r"(entry), [argument] "r"(argument)
      : "memory", "cc", "x30");
  return result;
#else
#error "CloneOnStack: write it for this processor"
#endif
}

std::string Explain(const ChildArgs& args, const GangPlan& plan) {
  std::string error = strerror(args.error);
  switch (args.failed) {
    case Step::kWorkdir: return "work directory " + plan.workdir + ": " + error;
    case Step::kUser: return "become user " + plan.user.name + ": " + error;
    case Step::kMemory: return "enter the memory cgroup: " + error;
    case Step::kExec: {
      bool searched = plan.argv[0].find('/') == std::string::npos;
      if (searched && args.error == ENOENT) return "exec " + plan.argv[0] + ": not found in PATH";
      return "exec " + plan.argv[0] + ": " + error;
    }
    default: return "prepare the process: " + error;
  }
}

std::vector<char*> Pointers(const std::vector<std::string>& a, const std::vector<std::string>* b) {
  std::vector<char*> result;
  result.reserve(a.size() + (b != nullptr ? b->size() : 0) + 1);
  for (const std::string& word : a) result.push_back(const_cast<char*>(word.c_str()));
  if (b != nullptr)
    for (const std::string& word : *b) result.push_back(const_cast<char*>(word.c_str()));
  result.push_back(nullptr);
  return result;
}
}  // namespace

Spawner::Stack::~Stack() {
  if (base != nullptr) munmap(base, kStackSize);
}

Status ReserveSpawnFds() {
  syscall(SYS_close_range, static_cast<unsigned>(kFirstSpawnFd), ~0u, 0);
  for (int fd = 0; fd < kFirstSpawnFd + kSpawnFds; ++fd) {
    bool taken = fcntl(fd, F_GETFD) >= 0;
    if (!taken && open("/dev/null", O_RDWR | (fd < kFirstSpawnFd ? 0 : O_CLOEXEC)) != fd) return ErrnoStatus(errno, "/dev/null");
  }
  return OkStatus();
}

Result<Spawner> Spawner::Make(const InheritedLimits& limits) {
  Spawner spawner;
  void* stack = mmap(nullptr, kStackSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack == MAP_FAILED) return ErrnoStatus(errno, "mmap");
  spawner.stack_.base = static_cast<char*>(stack);
  GT_ASSIGN_OR_RETURN(spawner.dev_null_, OpenFile("/dev/null", O_RDONLY));
  spawner.limits_ = limits;
  return spawner;
}

Result<Spawned> Spawner::Spawn(const SpawnRequest& request) {
  const GangPlan& plan = *request.plan;
  std::vector<char*> paths = Pointers(plan.paths, nullptr), argv = Pointers(plan.argv, nullptr);
  std::vector<char*> env = Pointers(plan.common_env, &plan.rank_env[request.local_rank]);
  ChildArgs child{paths.data(), argv.data(), env.data(), plan.workdir.c_str(), &plan.user, &limits_, request.memory_fd >= 0};
  const int sources[kSpawnFds] = {dev_null_.get(), request.stdout_fd, request.stderr_fd, request.memory_fd};
  for (int i = 0; i < kSpawnFds; ++i)
    if (sources[i] >= 0 && dup3(sources[i], kFirstSpawnFd + i, O_CLOEXEC) < 0) return ErrnoStatus(errno, "dup3");
  int pidfd = -1;
  clone_args args{};
  args.flags = CLONE_VM | CLONE_VFORK | CLONE_FILES | CLONE_CLEAR_SIGHAND;
  if (request.want_pidfd) args.flags |= CLONE_PIDFD;
  if (request.cgroup_fd >= 0) args.flags |= CLONE_INTO_CGROUP;
  args.pidfd = reinterpret_cast<uint64_t>(&pidfd);
  args.exit_signal = SIGCHLD;
  args.stack = reinterpret_cast<uint64_t>(stack_.base);
  args.stack_size = kStackSize;
  args.cgroup = static_cast<uint64_t>(std::max(request.cgroup_fd, 0));
  // No signal may run a handler of ours in the child, which shares our memory.
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  long pid = CloneOnStack(&args, ChildMain, &child);
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  for (int i = 1; i < kSpawnFds; ++i) dup3(dev_null_.get(), kFirstSpawnFd + i, O_CLOEXEC);  // a pipe end kept here never ends
  if (pid < 0) return ErrnoStatus(static_cast<int>(-pid), "start a process");
  Spawned result{static_cast<pid_t>(pid), Fd(pidfd)};
  if (child.failed == Step::kNone) return result;
  while (waitpid(result.pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  bool jobs_fault = child.failed == Step::kWorkdir || child.failed == Step::kExec;
  return Status(jobs_fault ? Code::kInvalidArgument : Code::kFailedPrecondition, Explain(child, plan));
}

}  // namespace gt::launcher
