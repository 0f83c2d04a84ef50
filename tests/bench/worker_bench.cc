// How many tasks a second go through one worker: a coordinator without rules gives it single-node commands, keeping
// `slots` of them under way, and forgets each exit. The real gt-worker and gt-launcher; beside it stands what the two of them
// used of the CPUs. usage: worker_bench [TASKS [SLOTS [COMMAND]]]
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "common/os/process.h"
#include "common/text/access.h"
#include "tests/unit/worker/fake_coordinator.h"

namespace gt::worker {
namespace {

namespace v1 = gridtrain::v1;

// Seconds of CPU time (user and system) that a process has used.
double CpuSeconds(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string field;
  double ticks = 0;
  for (int i = 3; fields >> field; ++i)
    if (i == 14 || i == 15) ticks += std::atof(field.c_str());
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

pid_t LauncherPid(const std::string& dir) {
  std::ifstream lock(dir + "/data/launcher/lock");
  pid_t pid = 0;
  lock >> pid;
  return pid;
}

struct Feed {
  v1::JobLaunch job;
  uint64_t started = 0, ended = 0, failed = 0, tasks = 0;

  v1::AttemptOrder Next() {
    v1::AttemptOrder order;
    *order.mutable_uid() = Wire(Uid{1, ++started});
    order.set_task_index(static_cast<uint32_t>(started));
    order.set_local_endpoint(true);
    order.set_number(1);
    return order;
  }
};

void Report(const Feed& feed, double seconds, uint64_t slots, double worker, double launcher) {
  double tasks = static_cast<double>(feed.tasks);
  std::printf("worker: %.0f tasks/s (%s, %.0f tasks, %d slots, %.2f s)\n", tasks / seconds, feed.job.argv(0).c_str(),
              tasks, static_cast<int>(slots), seconds);
  std::printf("worker: CPU %.0f us a task in gt-worker, %.0f us in gt-launcher; %d failed\n", worker * 1e6 / tasks,
              launcher * 1e6 / tasks, static_cast<int>(feed.failed));
}

int Main(int argc, char** argv) {
  Feed feed;
  feed.tasks = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10000;
  uint64_t slots = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 64;
  feed.job.set_job_id(1);
  feed.job.add_argv(argc > 3 ? argv[3] : "/bin/true");
  feed.job.set_processes_per_node(1);
  feed.job.set_array(true);

  char path[] = "/tmp/gt-worker-bench-XXXXXX";
  std::string dir = mkdtemp(path);
  chmod(dir.c_str(), 0755);
  FakeCoordinator coordinator;
  if (!WriteAccess(dir + "/access", {coordinator.address(), "token", "bench", 1}).ok()) return 1;
  Result<pid_t> worker = Spawn({.argv = {GT_BIN_DIR "/gt-worker", "--data-dir", dir + "/data", "--node-name", "bench",
                                         "--access", dir + "/access", "--set", "log.level=warn"}});
  if (!worker.ok() || !coordinator.Wait([&] { return !coordinator.inventory().containment().empty(); })) {
    std::fprintf(stderr, "worker_bench: the worker did not join\n");
    return 1;
  }
  coordinator.on_exit = [&](const Uid& uid) {
    ++feed.ended;
    if (coordinator.ExitLocked(uid).why() != v1::ExitRecord::FINISHED) ++feed.failed;
    coordinator.ForgetLocked(uid);
    if (feed.started < feed.tasks) coordinator.RunLocked(feed.job, feed.Next());
  };
  auto begin = std::chrono::steady_clock::now();
  coordinator.Batch([&] {
    for (uint64_t i = 0; i < slots && feed.started < feed.tasks; ++i) coordinator.RunLocked(feed.job, feed.Next());
  });
  bool done = false;
  auto all_ended = [&] { return coordinator.Locked([&] { return feed.ended >= feed.tasks; }); };
  for (int i = 0; i < 60 && !done; ++i) done = coordinator.Wait(all_ended);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  pid_t launcher = LauncherPid(dir);
  Report(feed, seconds, slots, CpuSeconds(*worker), CpuSeconds(launcher));
  kill(*worker, SIGTERM);
  (void)WaitFor(*worker);
  if (launcher > 0) kill(launcher, SIGTERM);
  coordinator.Stop();
  std::error_code ignored;
  std::filesystem::remove_all(dir, ignored);
  return done && feed.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace gt::worker

int main(int argc, char** argv) { return gt::worker::Main(argc, argv); }
