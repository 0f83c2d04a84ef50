// A node under test: a fake coordinator, a data directory under /tmp, the real gt-worker and gt-launcher.
#pragma once
#include <gtest/gtest.h>
#include <signal.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <thread>

#include "common/base/vocabulary.h"
#include "common/os/file.h"
#include "common/os/process.h"
#include "common/text/access.h"
#include "tests/support/sanitizer.h"
#include "tests/unit/worker/fake_coordinator.h"

namespace gt::worker {

inline std::string Slurp(const std::string& path) {
  Result<std::string> text = ReadFile(path);
  return text.ok() ? *text : std::string();
}

class NodeTest : public testing::Test {
 protected:
  NodeTest() {
    char path[] = "/tmp/gt-worker-test-XXXXXX";
    dir = mkdtemp(path);
    chmod(dir.c_str(), 0777);
    WriteAccessFile("secret");
  }
  ~NodeTest() override {
    int code = worker_pid > 0 ? KillWorker(SIGTERM).code : 0;  // what it leaks shows only when it leaves
    EXPECT_EQ(code, 0);
    coordinator.Stop();
    StopLauncher();
    test::ExpectNoSanitizerReport(dir + "/worker.log");
    test::ExpectNoSanitizerReport(dir + "/data/launcher/launcher.out");
    std::error_code ignored;
    std::filesystem::remove_all(dir, ignored);
  }

  void WriteAccessFile(const std::string& token) {
    ASSERT_TRUE(WriteAccess(dir + "/access", {coordinator.address(), token, "cluster-1", 1}).ok());
  }
  std::vector<std::string> Argv(std::vector<std::string> more = {}) {
    std::vector<std::string> argv{GT_BIN_DIR "/gt-worker", "--data-dir", dir + "/data", "--node-name", "n1",
                                  "--access", dir + "/access", "--set", "allow_root_jobs=true"};
    argv.insert(argv.end(), more.begin(), more.end());
    return argv;
  }
  pid_t Spawn(std::vector<std::string> argv) {
    Result<Fd> log = OpenFile(dir + "/worker.log", O_WRONLY | O_CREAT | O_APPEND, 0600);
    SpawnOptions options{.argv = std::move(argv), .env = {"GT_TEST_SECRET=never"}, .new_session = true,
                         .stdout_fd = log->get(), .stderr_fd = log->get()};
    return gt::Spawn(options).value();
  }
  void StartWorker(std::vector<std::string> more = {}) {
    worker_pid = Spawn(Argv(std::move(more)));
    ASSERT_TRUE(coordinator.Wait([this] { return coordinator.connected() && coordinator.inventory().has_containment() &&
                                                 !coordinator.inventory().containment().empty(); }))
        << Slurp(dir + "/worker.log") << Slurp(dir + "/data/launcher/launcher.out");
  }
  ExitStatus KillWorker(int signal) {
    kill(worker_pid, signal);
    ExitStatus status = WaitFor(worker_pid).value();
    worker_pid = 0;
    return status;
  }
  // What a worker that cannot run says, with its exit code.
  std::pair<int, std::string> Fails(std::vector<std::string> argv) {
    size_t before = Slurp(dir + "/worker.log").size();
    ExitStatus status = WaitFor(Spawn(std::move(argv))).value();
    return {status.code, Slurp(dir + "/worker.log").substr(before)};
  }
  pid_t LauncherPid() { return std::atoi(Slurp(dir + "/data/launcher/lock").c_str()); }
  void StopLauncher() {
    if (pid_t pid = LauncherPid(); pid > 0) kill(pid, SIGKILL);
  }

  gridtrain::v1::JobLaunch Job(std::vector<std::string> argv) {
    gridtrain::v1::JobLaunch job;
    job.set_job_id(++jobs);
    for (std::string& word : argv) job.add_argv(std::move(word));
    job.set_processes_per_node(1);
    job.set_cpus_per_process(1);
    job.set_grace_ms(500);
    job.set_fail_grace_ms(300);
    return job;
  }
  Uid RunShell(const std::string& script) { return Run(Job({"/bin/sh", "-c", script})); }
  Uid Run(const gridtrain::v1::JobLaunch& job) {
    Uid uid{1, ++attempts};
    gridtrain::v1::AttemptOrder order;
    *order.mutable_uid() = Wire(uid);
    order.set_local_endpoint(true);
    order.set_number(1);
    coordinator.Run(job, order);
    return uid;
  }
  bool Ends(const Uid& uid) { return coordinator.Wait([&] { return coordinator.ExitOf(uid).has_value(); }); }
  bool Runs(const Uid& uid) {
    return coordinator.Wait([&] { return coordinator.PhaseOf(uid) == gridtrain::v1::PHASE_RUNNING; });
  }
  // The rank has written its pid there.
  pid_t PidIn(const std::string& path) {
    coordinator.Wait([&] { return Slurp(path).find('\n') != std::string::npos; });
    return std::atoi(Slurp(path).c_str());
  }

  FakeCoordinator coordinator;
  std::string dir;
  pid_t worker_pid = 0;
  uint64_t jobs = 0, attempts = 0;
};

}  // namespace gt::worker
