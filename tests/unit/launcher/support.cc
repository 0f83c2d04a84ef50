#include "tests/unit/launcher/support.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/os/clock.h"
#include "common/os/file.h"
#include "common/os/process.h"
#include "common/os/random.h"
#include "common/os/unix_socket.h"
#include "tests/support/sanitizer.h"
#include "worker/launcher/cgroup.h"
#include "worker/launcher/sweep.h"

namespace gt::launcher {

std::string ReadText(const std::string& path) {
  auto text = ReadFile(path);
  return text.ok() ? *text : "";
}

bool Eventually(const std::function<bool()>& condition, int within_ms) {
  for (Millis end = ReadClock().mono + within_ms;; usleep(5000)) {
    if (condition()) return true;
    if (ReadClock().mono > end) return false;
  }
}

Client::Client(const std::string& dir) {
  EXPECT_TRUE(Eventually([&] {
    auto fd = ConnectUnix(dir + "/launcher.sock");
    if (fd.ok()) fd_ = std::move(fd).value();
    return fd_.valid();
  }));
  Send(Hello{});
  EXPECT_TRUE(Until([this] { return snapshot_ended; }));
}

void Client::SendBytes(const std::string& bytes) {
  size_t sent = 0;
  while (sent < bytes.size() && !closed) {  // reads meanwhile, so that two full sockets cannot wait for each other
    ssize_t put = send(fd_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put > 0) sent += static_cast<size_t>(put);
    if (put < 0 && errno != EAGAIN) closed = true;
    if (put < 0) TakeSome(5);
  }
}

bool Client::Until(const std::function<bool()>& done, int within_ms) {
  Millis end = ReadClock().mono + within_ms;
  while (!done()) {
    Millis left = end - ReadClock().mono;
    if (left <= 0 || closed) return false;
    TakeSome(static_cast<int>(left));
  }
  return true;
}

bool Client::TakeSome(int wait_ms) {
  pollfd one{fd_.get(), POLLIN, 0};
  if (poll(&one, 1, wait_ms) <= 0) return false;
  static char buffer[1 << 18];
  ssize_t got = recv(fd_.get(), buffer, sizeof buffer, 0);
  if (got <= 0) {
    closed = true;
    return false;
  }
  parser_.Append({buffer, static_cast<size_t>(got)});
  while (true) {
    auto message = parser_.Next();
    EXPECT_TRUE(message.ok()) << message.status().message();
    if (!message.ok() || !message->has_value()) return true;
    Take(**message);
  }
}

void Client::Take(const Message& message) {
  if (const auto* reply = std::get_if<HelloReply>(&message)) hello = *reply;
  if (std::holds_alternative<SnapshotEnd>(message)) snapshot_ended = true;
  if (const auto* line = std::get_if<RankSaid>(&message)) said.push_back(*line);
  if (const auto* advance = std::get_if<SpoolAdvance>(&message)) spool_end = advance->end;
  if (const auto* state = std::get_if<State>(&message)) {
    states[state->uid] = *state;
    phases[state->uid].push_back(state->phase);
  }
}

State Client::WaitPhase(const Uid& uid, Phase phase, int within_ms) {
  bool reached = Until([&] { return states[uid].phase == phase; }, within_ms);
  EXPECT_TRUE(reached) << "still " << Name(states[uid].phase) << ", not " << Name(phase) << " " << states[uid].exit.message;
  return states[uid];
}

namespace {
// Asked in a child, because opening a tree may move the asker.
bool CgroupsWork() {
  static const bool work = [] {
    pid_t child = fork();
    if (child == 0) {
      bool opened = CgroupTree::Open("", "probe-" + std::to_string(getpid())).ok();  // and removed again
      _exit(opened ? 0 : 1);
    }
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }();
  return work;
}
}  // namespace

void LauncherTest::SetUp() {
  if (GetParam() == std::string("cgroup") && !CgroupsWork()) GTEST_SKIP() << "no cgroup can be made here";
}

LauncherTest::LauncherTest() {
  dir_ = "/tmp/gt_launcher_XXXXXX";
  shared_ = "/tmp/gt_shared_XXXXXX";
  EXPECT_NE(mkdtemp(dir_.data()), nullptr);
  EXPECT_NE(mkdtemp(shared_.data()), nullptr);
  chmod(shared_.c_str(), 0777);
}

LauncherTest::~LauncherTest() {
  if (client_ != nullptr) {
    for (const Uid& uid : uids_) client_->Send(Stop{uid, 0, StopWhy::kStale});
    client_->Until([&] {
      for (const Uid& uid : uids_)
        if (client_->states[uid].phase != Phase::kEnded && client_->states[uid].phase != Phase::kUnknown) return false;
      return true;
    }, 5000);
  }
  if (pid_ > 0) KillLauncher(SIGTERM);
  test::ExpectNoSanitizerReport(dir_ + "/launcher.out");
  for (const std::string& marker : markers_) EXPECT_TRUE(GoneByArgument(marker)) << "a process has outlived its attempt";
  std::string rank_dir = ReadText(dir_ + "/rank_dir_name");
  std::ignore = system(("rm -rf " + dir_ + " " + shared_).c_str());
}

void LauncherTest::StartLauncher(std::vector<std::string> more) {
  std::vector<std::string> argv = {GT_LAUNCHER_BINARY, "--dir", dir_, "--rank-dir", shared_ + "/r"};
  if (GetParam() != std::string("any")) argv.insert(argv.end(), {"--containment", GetParam()});
  argv.insert(argv.end(), more.begin(), more.end());
  auto out = OpenFile(dir_ + "/launcher.out", O_WRONLY | O_CREAT | O_APPEND, 0600);
  ASSERT_TRUE(out.ok()) << out.status().message();
  auto pid = Spawn({.argv = argv, .stderr_fd = out->get()});
  ASSERT_TRUE(pid.ok()) << pid.status().message();
  pid_ = *pid;
  client_ = std::make_unique<Client>(dir_);
}

bool LauncherTest::LauncherAlive() const {
  auto stat = StatOf(pid_);
  return stat.ok() && stat->state != 'Z';
}

void LauncherTest::KillLauncher(int signal) {
  kill(pid_, signal);
  if (!Eventually([&] { return !LauncherAlive(); }, 10'000)) {
    ADD_FAILURE() << "the launcher does not leave: " << ReadText(dir_ + "/launcher.log");
    kill(pid_, SIGKILL);
  }
  WaitFor(pid_).ok();
  pid_ = 0;
}

Start LauncherTest::Shell(const std::string& script, uint32_t ranks) {
  Start start;
  start.uid = RandomUid().value();
  start.job_id = {42};
  start.world_size = ranks;
  start.ranks.resize(ranks);
  start.argv = {"/bin/sh", "-c", script};
  start.env = {{"SHARED", shared_}};
  start.local_endpoint = true;
  start.node_address = "127.0.0.1";
  return start;
}

Uid LauncherTest::Run(const Start& start) {
  uids_.push_back(start.uid);
  client().Send(start);
  return start.uid;
}

ExitRecord LauncherTest::RunToEnd(const std::string& script, uint32_t ranks) {
  return client().WaitExit(Run(Shell(script, ranks)));
}

std::string LauncherTest::Output(const Uid& uid, uint32_t rank, Stream stream) {
  SpoolReader reader(dir_ + "/spool");
  std::string text;
  for (uint64_t from = 0;;) {
    auto frames = reader.Next(from, client().spool_end, 1 << 20);
    EXPECT_TRUE(frames.ok()) << frames.status().message();
    if (!frames.ok() || frames->empty()) return text;
    for (const SpoolFrame& frame : *frames) {
      if (frame.uid != uid || frame.rank != rank || frame.stream != stream) continue;
      EXPECT_EQ(frame.stream_offset, text.size());
      text += frame.bytes;
    }
    from = frames->back().next;
  }
}

int LauncherTest::CountByArgument(const std::string& word) {
  int count = 0;
  std::string wanted = std::string(1, '\0') + word + std::string(1, '\0');
  for (const ProcessStat& process : ListProcesses()) {
    if (process.state == 'Z') continue;
    if (ReadText("/proc/" + std::to_string(process.pid) + "/cmdline").find(wanted) != std::string::npos) ++count;
  }
  return count;
}

bool LauncherTest::GoneByArgument(const std::string& word, int within_ms) {
  return Eventually([&] { return CountByArgument(word) == 0; }, within_ms);
}

bool LauncherTest::AppearsByArgument(const std::string& word, int count, int within_ms) {
  return Eventually([&] { return CountByArgument(word) >= count; }, within_ms);
}

std::string LauncherTest::NewMarker() {
  uint32_t random = 0;
  FillRandom(&random, sizeof random).ok();
  markers_.push_back(std::to_string(1'000'000'000u + random % 1'000'000'000u));
  return markers_.back();
}

}  // namespace gt::launcher
