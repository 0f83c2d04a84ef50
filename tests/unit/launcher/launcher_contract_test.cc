// The rank contract over GT_SOCKET, with small Python ranks.
#include <gmock/gmock.h>

#include "tests/unit/launcher/support.h"

namespace gt::launcher {
namespace {

using testing::HasSubstr;

// connect(), send(dict), receive() -> dict; ends when the launcher closes.
const char kPrelude[] = R"(
import json, os, socket, sys, time
rank = int(os.environ["RANK"])
s = socket.socket(socket.AF_UNIX); s.connect(os.environ["GT_SOCKET"])
lines = s.makefile("r")
def send(**m): s.sendall((json.dumps(m) + "\n").encode())
def receive():
  line = lines.readline()
  if not line: sys.exit(20)
  return json.loads(line)
def hello(**more): send(type="hello", key=os.environ["GT_KEY"], pid=os.getpid(), **more)
)";

class Contract : public LauncherTest {
 protected:
  Start Python(const std::string& script, uint32_t ranks = 1) {
    Start start = Shell("", ranks);
    start.argv = {"/usr/bin/python3", "-c", kPrelude + script};
    start.contract = true;
    return start;
  }
  std::vector<std::string> SaidBy(const Uid& uid, uint32_t rank) {
    std::vector<std::string> lines;
    for (const RankSaid& one : client().said)
      if (one.uid == uid && one.rank == rank) lines.push_back(one.line);
    return lines;
  }
};
GT_BOTH_CONTAINMENTS(Contract);

TEST_P(Contract, OnOneNodeTheRendezvousNeedsNobodyElseAndRanksLeaveTogether) {
  StartLauncher();
  Uid uid = Run(Python(R"(
hello(store_addr="127.0.0.1", store_port=5000 + rank)
print(json.dumps(receive(), sort_keys=True))
send(type="finished", step=9)
print(receive()["type"])
)", 3));
  EXPECT_EQ(client().WaitExit(uid).why, EndWhy::kCompleted);
  for (uint32_t rank = 0; rank < 3; ++rank)
    EXPECT_EQ(Output(uid, rank), "{\"generation\": 1, \"rank\": " + std::to_string(rank) +
                                     ", \"store_addr\": \"127.0.0.1\", \"store_port\": 5000, \"type\": \"rendezvous\", "
                                     "\"world_size\": 3}\nstop\n");
}

TEST_P(Contract, OverSeveralNodesTheHelloIsReportedAndTheRendezvousIsPassedOnAlsoToThoseWhoComeLater) {
  StartLauncher();
  Start start = Python(R"(
if rank == 5:
  while not os.path.exists(os.environ["SHARED"] + "/late"): time.sleep(0.01)
hello(rank=rank, store_addr="127.0.0.1", store_port=7000 + rank)
m = receive()
print(m["generation"], m["rank"], m["world_size"], m["store_addr"], m["store_port"])
)", 2);
  start.local_endpoint = false;
  start.first_rank = 4, start.world_size = 6, start.group_rank = 2, start.group_world_size = 3;
  Uid uid = Run(start);
  ASSERT_TRUE(client().Until([&] { return client().states[uid].hello_port != 0; })) << "contract ranks start at once";
  client().WaitPhase(uid, Phase::kRunning);  // a rank may say hello before its keeper says that all have been started
  EXPECT_EQ(client().states[uid].hello_port, 7004);
  client().Send(Go{uid, {3}, "10.1.1.1", 99});
  ASSERT_TRUE(client().Until([&] { return client().states[uid].generation.value == 3; }));
  ASSERT_EQ(system(("touch " + shared_ + "/late").c_str()), 0);
  EXPECT_EQ(client().WaitExit(uid).why, EndWhy::kCompleted);
  EXPECT_EQ(Output(uid, 4), "3 4 6 10.1.1.1 99\n");
  EXPECT_EQ(Output(uid, 5), "3 5 6 10.1.1.1 99\n");
}

TEST_P(Contract, WhatRanksSayIsForwardedAndRepeatedAfterAReconnect) {
  StartLauncher();
  Uid uid = Run(Python(R"(
hello()
send(type="progress", step=1)
send(type="some_later_message", x=1)
send(type="progress", step=2)
send(type="checkpoint", step=2, path="/c", bytes=10)
while True: time.sleep(1)
)"));
  ASSERT_TRUE(client().Until([&] { return SaidBy(uid, 0).size() >= 3; }));
  EXPECT_EQ(SaidBy(uid, 0)[1], "{\"type\": \"progress\", \"step\": 2}");
  Client other(dir_);
  ASSERT_EQ(other.said.size(), 2u) << "the last of each kind";
  EXPECT_THAT(other.said[0].line + other.said[1].line, HasSubstr("\"step\": 2"));
}

TEST_P(Contract, TheMessageOfAFailureIsInTheExitRecord) {
  StartLauncher();
  Uid uid = Run(Python(R"(
hello()
send(type="failure", message="loss is NaN at step 7", traceback="", kind="user")
sys.exit(3)
)"));
  ExitRecord exit = client().WaitExit(uid);
  EXPECT_EQ(exit.ranks[0].message, "loss is NaN at step 7");
  EXPECT_EQ(exit.ranks[0].code, 3);
}

TEST_P(Contract, WhoDoesNotKnowTheKeyIsCutOff) {
  StartLauncher();
  Uid uid = Run(Python(R"(
send(type="hello", key="0" * 32, pid=os.getpid())
receive()
)"));
  EXPECT_EQ(client().WaitExit(uid).ranks[0].code, 20);
  Uid early = Run(Python(R"(
send(type="progress", step=1)
receive()
)"));
  EXPECT_EQ(client().WaitExit(early).ranks[0].code, 20);
  EXPECT_TRUE(client().said.empty());
}

TEST_P(Contract, APreemptIsAnnouncedWithItsGraceAndOtherLinesReachTheRank) {
  StartLauncher();
  Uid uid = Run(Python(R"(
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
hello()
receive()
send(type="joined", generation=1, step=0, can_reform=True)
for i in range(2): print(json.dumps(receive()))
)"));
  ASSERT_TRUE(client().Until([&] { return !SaidBy(uid, 0).empty(); }));
  client().Send(TellRanks{uid, kAllRanks, "{\"type\":\"diagnose\"}"});
  client().Send(Stop{uid, 20'000, StopWhy::kPreempt});
  ExitRecord exit = client().WaitExit(uid);
  EXPECT_EQ(exit.stop_why, StopWhy::kPreempt);
  EXPECT_EQ(Output(uid), "{\"type\": \"diagnose\"}\n{\"type\": \"preempt\", \"grace_s\": 20}\n");
}

}  // namespace
}  // namespace gt::launcher
