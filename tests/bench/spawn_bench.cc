// How many one-rank attempts of /bin/true gt-launcher starts and ends per second, with everything it does for each (journal,
// cgroup, pipes, spool, durable exit record, Forget), beside a plain loop of vfork, exec and waitpid on the same machine.
//
//   spawn_bench [COUNT] [WINDOW] [CONTAINMENT]    one line per figure: name value unit beside
// The CPU time per task hardly depends on what else the machine is doing, the rates do.
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "common/os/process.h"
#include "common/os/random.h"
#include "common/os/unix_socket.h"
#include "worker/launcher/protocol.h"

namespace {
using namespace gt;            // NOLINT
using namespace gt::launcher;  // NOLINT

double Seconds() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

// CPU microseconds so far: of a launcher and its reaped children (from outside, in ticks of 10 ms).
double CpuMicros(pid_t pid) {
  FILE* file = fopen(("/proc/" + std::to_string(pid) + "/stat").c_str(), "r");
  unsigned long own_user = 0, own_system = 0;
  long user = 0, system = 0;
  if (file == nullptr) return 0;
  int got = fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %ld %ld", &own_user, &own_system,
                   &user, &system);
  fclose(file);
  return got == 4 ? static_cast<double>(own_user + own_system + static_cast<unsigned long>(user + system)) * 10'000 : 0;
}

// `window` children at a time.
double PlainRate(int count, int window) {
  char* argv[] = {const_cast<char*>("/bin/true"), nullptr};
  char* env[] = {nullptr};
  double begin = Seconds();
  for (int started = 0, ended = 0; ended < count;) {
    if (started < count && started - ended < window) {
      if (vfork() == 0) {
        execve(argv[0], argv, env);
        _exit(127);
      }
      ++started;
    } else if (wait(nullptr) > 0) {
      ++ended;
    }
  }
  return count / (Seconds() - begin);
}

Start TrueStart() {
  Start start;
  start.uid = RandomUid().value();
  start.job_id = {1};
  start.ranks.resize(1);
  start.argv = {"/bin/true"};
  start.local_endpoint = true;
  start.node_address = "127.0.0.1";
  return start;
}

// -1: something went wrong.
double LauncherRate(const std::string& dir, int count, int window) {
  Result<Fd> fd = ConnectUnix(dir + "/launcher.sock");
  for (int i = 0; i < 1000 && !fd.ok(); ++i, usleep(5000)) fd = ConnectUnix(dir + "/launcher.sock");
  if (!fd.ok()) return -1;
  FrameParser parser;
  std::string out;
  std::vector<char> buffer(1 << 18);
  AppendFrame(Hello{}, &out);
  double begin = Seconds();
  for (int started = 0, ended = 0; ended < count;) {
    for (; started < count && started - ended < window; ++started) AppendFrame(TrueStart(), &out);
    if (!out.empty() && send(fd->get(), out.data(), out.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(out.size())) return -1;
    out.clear();
    ssize_t got = recv(fd->get(), buffer.data(), buffer.size(), 0);
    if (got <= 0) return -1;
    parser.Append({buffer.data(), static_cast<size_t>(got)});
    for (auto message = parser.Next(); message.ok() && message->has_value(); message = parser.Next()) {
      const auto* state = std::get_if<State>(&**message);
      if (state == nullptr || state->phase != Phase::kEnded) continue;
      if (state->exit.why != EndWhy::kCompleted) return std::printf("%s\n", state->exit.message.c_str()), -1;
      ++ended;
      AppendFrame(Forget{state->uid}, &out);
    }
  }
  return count / (Seconds() - begin);
}
}  // namespace

int main(int argc, char** argv) {
  int count = argc > 1 ? atoi(argv[1]) : 5000, window = argc > 2 ? atoi(argv[2]) : 64;
  std::string containment = argc > 3 ? argv[3] : "auto", dir = "/tmp/gt_spawn_bench_XXXXXX";
  if (mkdtemp(dir.data()) == nullptr) return 1;
  auto pid = Spawn({.argv = {GT_LAUNCHER_BINARY, "--dir", dir, "--rank-dir", dir + "r", "--containment", containment}});
  if (!pid.ok()) return 1;
  LauncherRate(dir, 200, window);  // warm
  double before = CpuMicros(getpid()), plain = PlainRate(count, window), plain_cpu = CpuMicros(getpid()) - before;
  before = CpuMicros(*pid);
  double ours = LauncherRate(dir, count, window), ours_cpu = CpuMicros(*pid) - before, again = PlainRate(count, window);
  kill(*pid, SIGTERM);
  WaitFor(*pid).ok();
  std::printf("machine_spawns_per_s %.0f /s plain vfork, exec /bin/true and wait, %d at a time (%.0f/s before the launcher's turn, %.0f/s after)\n",
              (plain + again) / 2, window, plain, again);
  std::printf("launcher_spawns_per_s %.0f /s gt-launcher (%s), %d at a time, output, cgroup, journal and durable exit record each\n",
              ours, containment.c_str(), window);
  std::printf("machine_spawn_cpu_us %.0f us CPU time per task of the plain loop and its children\n", plain_cpu / count);
  std::printf("launcher_spawn_cpu_us %.0f us CPU time per task of gt-launcher and its children\n", ours_cpu / count);
  return system(("rm -rf " + dir + " " + dir + "r").c_str()) == 0 && ours > 0 ? 0 : 1;
}
