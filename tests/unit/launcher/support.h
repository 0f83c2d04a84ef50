// Drives the real gt-launcher through its socket.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/os/fd.h"
#include "worker/launcher/protocol.h"
#include "worker/launcher/spool.h"

namespace gt::launcher {

// A worker's end of the protocol that remembers all it was told. Every wait has a deadline.
class Client {
 public:
  explicit Client(const std::string& dir);  // connects (waits for the socket) and reads the snapshot
  template <typename T>
  void Send(const T& message) {
    std::string bytes;
    AppendFrame(message, &bytes);
    SendBytes(bytes);
  }
  void SendBytes(const std::string& bytes);
  // Takes messages until `done` or the deadline; false then.
  bool Until(const std::function<bool()>& done, int within_ms = 20'000);
  // The state of `uid` once it has reached `phase` (fails the test and returns what there is otherwise).
  State WaitPhase(const Uid& uid, Phase phase, int within_ms = 20'000);
  ExitRecord WaitExit(const Uid& uid, int within_ms = 20'000) { return WaitPhase(uid, Phase::kEnded, within_ms).exit; }
  void TakeFor(int ms) { Until([] { return false; }, ms); }

  HelloReply hello;
  bool snapshot_ended = false, closed = false;
  std::map<Uid, State> states;
  std::map<Uid, std::vector<Phase>> phases;  // each change
  std::vector<RankSaid> said;
  uint64_t spool_end = 0;

 private:
  bool TakeSome(int wait_ms);
  void Take(const Message& message);
  Fd fd_;
  FrameParser parser_;
};

class LauncherTest : public testing::TestWithParam<const char*> {
 protected:
  LauncherTest();
  ~LauncherTest() override;  // fails the test when a process of an attempt has outlived it
  void SetUp() override;     // skips what needs cgroups where none can be made

  // Starts the program and connects. Extra options may replace the defaults.
  void StartLauncher(std::vector<std::string> more = {});
  void KillLauncher(int signal);  // and waits for it
  bool LauncherAlive() const;
  Client& client() { return *client_; }

  // A Start for a single node: `ranks` ranks of `sh -c script`.
  Start Shell(const std::string& script, uint32_t ranks = 1);
  Uid Run(const Start& start);
  ExitRecord RunToEnd(const std::string& script, uint32_t ranks = 1);

  // What was spooled of a stream; checks that its frames are contiguous.
  std::string Output(const Uid& uid, uint32_t rank = 0, Stream stream = Stream::kStdout);
  // How many living processes have `word` among their arguments (of any attempt, however they hide).
  static int CountByArgument(const std::string& word);
  bool GoneByArgument(const std::string& word, int within_ms = 5'000);
  bool AppearsByArgument(const std::string& word, int count = 1, int within_ms = 10'000);
  std::string NewMarker();  // a number for `sleep` that names this test's process

  std::string dir_;     // of the launcher
  std::string shared_;  // a directory that every user may write to
  pid_t pid_ = 0;
  std::unique_ptr<Client> client_;
  std::vector<std::string> markers_;

 private:
  std::vector<Uid> uids_;
};

std::string ReadText(const std::string& path);
// True once `condition` holds.
bool Eventually(const std::function<bool()>& condition, int within_ms = 10'000);

// Both ways to hold an attempt together.
#define GT_BOTH_CONTAINMENTS(suite)                                                             \
  INSTANTIATE_TEST_SUITE_P(Both, suite, testing::Values("cgroup", "keeper"),                    \
                           [](const testing::TestParamInfo<const char*>& info) { return std::string(info.param); })

}  // namespace gt::launcher
