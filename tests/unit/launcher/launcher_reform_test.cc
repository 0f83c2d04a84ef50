// Ranks that can re-form: one that dies is down and does not end the others, and a Go of a later generation starts it again.
#include <gmock/gmock.h>
#include <signal.h>

#include "tests/unit/launcher/support.h"

namespace gt::launcher {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Joins every generation that it is told of, and says so; a line "die N" in SHARED/<rank> makes it exit with N.
const char kRank[] = R"(
import json, os, select, socket, sys, time
rank = int(os.environ["RANK"])
s = socket.socket(socket.AF_UNIX); s.connect(os.environ["GT_SOCKET"])
def send(**m): s.sendall((json.dumps(m) + "\n").encode())
send(type="hello", key=os.environ["GT_KEY"], pid=os.getpid(), rank=rank, store_addr="127.0.0.1", store_port=5000 + rank)
print("born", os.environ["GT_GENERATION"], flush=True)
order, lines = os.environ["SHARED"] + "/" + str(rank), b""
while True:
  if select.select([s], [], [], 0.01)[0]:
    got = s.recv(65536)
    if not got: sys.exit(20)
    lines += got
    while b"\n" in lines:
      line, lines = lines.split(b"\n", 1)
      m = json.loads(line)
      print(m["type"], m.get("generation", ""), m.get("store_port", ""), flush=True)
      if m["type"] == "rendezvous" and CAN is not None:
        send(type="joined", generation=m["generation"], step=7, redone_samples=32, can_reform=CAN)
      if m["type"] == "stop": sys.exit(0)
  if os.path.exists(order):
    os.unlink(order)
    print("dying", file=sys.stderr, flush=True)
    sys.exit(int(os.environ["CODE"]))
)";

class Reform : public LauncherTest {
 protected:
  Uid RunRanks(uint32_t ranks, const std::string& can = "True", Millis timeout = 60 * kSecond) {
    Start start = Shell("", ranks);
    start.argv = {"/usr/bin/python3", "-c", "CAN = " + can + "\n" + kRank};
    start.env.push_back({"CODE", "9"});
    start.contract = true;
    start.reform_timeout = timeout;
    start.grace = 20 * kSecond;
    start.fail_grace = 100;
    Uid uid = Run(start);
    client().WaitPhase(uid, Phase::kRunning);
    return uid;
  }
  void Die(uint32_t rank) { ASSERT_EQ(system(("touch " + shared_ + "/" + std::to_string(rank)).c_str()), 0); }
  const Formation& Of(const Uid& uid) { return client().states[uid].formation; }
  bool Until(const Uid& uid, const std::function<bool(const Formation&)>& holds) {
    return client().Until([&] { return client().states[uid].forms && holds(Of(uid)); });
  }
  bool UntilJoined(const Uid& uid, uint32_t generation) {
    return Until(uid, [&](const Formation& f) { return f.joined.value == generation; });
  }
  bool UntilDown(const Uid& uid, size_t count = 1) {
    return Until(uid, [&](const Formation& f) { return f.down.size() == count; });
  }
  static Go Next(const Uid& uid, uint32_t generation, uint16_t port, std::vector<Generation> born) {
    return Go{.uid = uid, .generation = {generation}, .master_addr = "127.0.0.1", .master_port = port, .born = std::move(born)};
  }
};
GT_BOTH_CONTAINMENTS(Reform);

TEST_P(Reform, ADeadRankIsReportedAndStartedAgainWhileTheOthersLive) {
  StartLauncher();
  Uid uid = RunRanks(2);
  ASSERT_TRUE(UntilJoined(uid, 1));
  EXPECT_EQ(Of(uid).store_port, 5000);
  EXPECT_EQ(Of(uid).redone_samples, 32u);
  Die(0);
  ASSERT_TRUE(UntilDown(uid));
  EXPECT_EQ(client().states[uid].phase, Phase::kRunning);
  EXPECT_EQ(Of(uid).down[0].exit.rank, 0u);
  EXPECT_EQ(Of(uid).down[0].exit.code, 9);
  EXPECT_EQ(Of(uid).down[0].born, Generation{1});
  EXPECT_THAT(Of(uid).down[0].exit.tail, HasSubstr("dying"));
  EXPECT_TRUE(Of(uid).survives);
  EXPECT_EQ(Of(uid).store_port, 5001) << "of a rank that lives";
  client().Send(Next(uid, 2, 5001, {{2}, {1}}));
  ASSERT_TRUE(UntilJoined(uid, 2));
  EXPECT_TRUE(Of(uid).down.empty());
  client().Send(TellRanks{uid, kAllRanks, "{\"type\":\"stop\"}"});
  ExitRecord exit = client().WaitExit(uid);
  EXPECT_EQ(exit.why, EndWhy::kCompleted) << exit.message;
  EXPECT_EQ(exit.generation, Generation{2});
  EXPECT_EQ(Output(uid, 0), "born 1\nrendezvous 1 5000\nborn 2\nrendezvous 2 5001\nstop  \n");
  EXPECT_EQ(Output(uid, 1), "born 1\nrendezvous 1 5000\nrendezvous 2 5001\nstop  \n");
}

TEST_P(Reform, AGoThatIsRepeatedStartsNothingTwice) {
  StartLauncher();
  Uid uid = RunRanks(2);
  ASSERT_TRUE(UntilJoined(uid, 1));
  Die(1);
  ASSERT_TRUE(UntilDown(uid));
  for (int i = 0; i < 3; ++i) client().Send(Next(uid, 2, 5000, {{1}, {2}}));
  ASSERT_TRUE(UntilJoined(uid, 2));
  Die(1);
  ASSERT_TRUE(UntilDown(uid));
  client().Send(Next(uid, 2, 5000, {{1}, {2}}));  // late: of the process that has died since
  client().TakeFor(200);
  ASSERT_EQ(Of(uid).down.size(), 1u);
  EXPECT_EQ(Of(uid).down[0].born, Generation{2});
  client().Send(Next(uid, 3, 5000, {{1}, {3}}));
  EXPECT_TRUE(UntilJoined(uid, 3));
}

TEST_P(Reform, AllRanksOfANodeMayDieAndComeBack) {
  StartLauncher();
  Uid uid = RunRanks(2);
  ASSERT_TRUE(UntilJoined(uid, 1));
  Die(0), Die(1);
  ASSERT_TRUE(UntilDown(uid, 2));
  EXPECT_FALSE(Of(uid).survives);
  client().Send(Next(uid, 2, 6000, {{2}, {2}}));  // they get the state from another node
  EXPECT_TRUE(UntilJoined(uid, 2));
  client().Send(Stop{uid, 0, StopWhy::kCancel});
  EXPECT_EQ(client().WaitExit(uid).why, EndWhy::kStopped);
}

TEST_P(Reform, AStopEndsAtOnceWhatIsDown) {
  StartLauncher();
  Uid uid = RunRanks(1);
  ASSERT_TRUE(UntilJoined(uid, 1));
  Die(0);
  ASSERT_TRUE(UntilDown(uid));
  client().Send(Stop{uid, 60'000, StopWhy::kCancel});
  EXPECT_EQ(client().WaitExit(uid, 5000).why, EndWhy::kStopped);
}

TEST_P(Reform, AStopBecauseTheGangIsBrokenNamesTheRankThatDied) {
  StartLauncher();
  Uid uid = RunRanks(2);
  ASSERT_TRUE(UntilJoined(uid, 1));
  Die(1);
  ASSERT_TRUE(UntilDown(uid));
  client().Send(Stop{uid, 100, StopWhy::kFail});
  ExitRecord exit = client().WaitExit(uid);
  EXPECT_EQ(exit.why, EndWhy::kRankFailed);
  EXPECT_EQ(exit.first_failed, 1u);
  EXPECT_EQ(exit.ranks[1].code, 9);
}

TEST_P(Reform, WhenNobodySaysHowToGoOnTheDeathEndsTheGang) {
  StartLauncher();
  Uid uid = RunRanks(2, "True", 300);
  ASSERT_TRUE(UntilJoined(uid, 1));
  Die(1);
  ExitRecord exit = client().WaitExit(uid);
  EXPECT_EQ(exit.why, EndWhy::kRankFailed);
  EXPECT_EQ(exit.first_failed, 1u);
}

TEST_P(Reform, RanksThatCannotReFormOrHaveNotJoinedEndAsEver) {
  StartLauncher();
  for (const char* can : {"False", "None"}) {
    Uid uid = RunRanks(2, can);
    client().TakeFor(300);
    Die(1);
    EXPECT_EQ(client().WaitExit(uid).first_failed, 1u) << can;
  }
}

}  // namespace
}  // namespace gt::launcher
