#include <gmock/gmock.h>

#include "tests/unit/worker/agent_world.h"

namespace gt::worker {
namespace {

TEST(AgentSession, ConnectsAtOnceAndSaysWhoItIs) {
  World world([](Agent::Options* o) { o->hello.node_name = "n1"; });
  EXPECT_EQ(world.Step().Count<Connect>(), 1u);
  world.Step({Connected{}});
  EXPECT_EQ(world.report.seq, 1u);
  EXPECT_EQ(world.report.hello->node_name, "n1");
  EXPECT_TRUE(world.report.inventory.has_value());
}

TEST(AgentSession, DoesNotClaimACompleteListBeforeTheLauncherHasSpoken) {
  World world;
  EXPECT_FALSE(world.Connected().report.snapshot_begin);
  world.Orders(NodeOrders{.welcome = Welcome{.epoch = Epoch{1}}}).Ack();
  world.Launcher({Is(5, AttemptPhase::kRunning)});
  EXPECT_TRUE(world.report.snapshot_begin && world.report.snapshot_end);
  EXPECT_EQ(world.Reported(5)->phase, AttemptPhase::kRunning);
  EXPECT_EQ(world.report.inventory->containment, "keeper");
}

TEST(AgentSession, ReconnectPausesGrowToTwoSecondsAndStartAnewAfterAWelcome) {
  World world;
  Millis longest = 0;
  for (int i = 0; i < 12; ++i) {
    while (world.Step().Count<Connect>() == 0) world.now.mono += 1;
    Millis before = world.now.mono;
    world.Step({Disconnected{"refused"}});
    EXPECT_GE(world.agent->NextDeadline(), before);
    longest = std::max(longest, world.agent->NextDeadline() - before);
    world.now.mono = world.agent->NextDeadline();
  }
  EXPECT_LE(longest, 2000);
  EXPECT_GT(longest, 1000);
  world.Step().Joined().Step({Disconnected{"gone"}});
  EXPECT_LE(world.agent->NextDeadline() - world.now.mono, 50);
}

TEST(AgentSession, BeatsWhileAReportIsInFlight) {
  World world;
  world.Joined().Step({Exited(1)});
  ASSERT_NE(world.report.seq, 0u);
  world.After(2000);
  EXPECT_EQ(world.report.seq, 0u);
  EXPECT_NE(world.report.beat, 0u);
}

TEST(AgentSession, AnswersAPingAtOnce) {
  World world;
  world.Joined().Step({OrdersReceived{NodeOrders{.ping = 9}}});
  EXPECT_EQ(world.report.pong, 9u);
  EXPECT_EQ(world.report.seq, 0u);
}

TEST(AgentSession, DropsASilentStream) {
  World world;
  world.Joined().After(9999);
  EXPECT_EQ(world.Count<Disconnect>(), 0u);
  EXPECT_EQ(world.After(1).Count<Disconnect>(), 1u);
}

TEST(AgentSession, DoesNotObeyAnOlderEpoch) {
  World world([](Agent::Options* o) { o->hello.last_epoch = Epoch{4}; });
  world.Launcher().Connected();
  world.Orders(NodeOrders{.welcome = Welcome{.epoch = Epoch{3}}, .jobs = {Job(1)}, .attempts = {Wants(1)}});
  EXPECT_EQ(world.Count<Disconnect>(), 1u);
  EXPECT_EQ(world.Count<StartAttempt>(), 0u);
}

TEST(AgentSession, RemembersAHigherEpoch) {
  World world;
  world.Launcher().Connected().Orders(NodeOrders{.welcome = Welcome{.epoch = Epoch{8}}});
  EXPECT_EQ(world.One<SaveEpoch>().epoch, Epoch{8});
  world.epoch = 7;
  world.Step({Disconnected{}}).After(5000);
  world.Step({Connected{}});
  EXPECT_EQ(world.report.hello->last_epoch, Epoch{8});
}

TEST(AgentSession, EndsWhenRefusedAndTriesAgainWhenToldTo) {
  World refused, later;
  refused.Connected().Orders(NodeOrders{.welcome = Welcome{.refused = "another cluster"}});
  EXPECT_EQ(refused.One<Refused>().why, "another cluster");
  EXPECT_EQ(refused.After(60000).Count<Connect>(), 0u);
  later.Connected().Orders(NodeOrders{.welcome = Welcome{.refused = "name in use", .try_again = true}});
  EXPECT_EQ(later.Count<Refused>(), 0u);
  EXPECT_EQ(later.After(2000).Count<Connect>(), 1u);
}

TEST(AgentSession, ARepeatedMessageIsAcknowledgedAgainAndNotDoneAgain) {
  World world;
  world.Joined().Order({Halt(1)});
  world.Step({OrdersReceived{NodeOrders{.seq = world.order_seq, .forget = {U(2)}}}});
  EXPECT_EQ(world.Count<ForgetAttempt>(), 0u);
  EXPECT_EQ(world.report.ack, world.order_seq);
}

TEST(AgentSession, AGapInTheOrdersBeginsTheStreamAnew) {
  World world;
  world.Joined().Step({OrdersReceived{NodeOrders{.seq = world.order_seq + 2}}});
  EXPECT_EQ(world.Count<Disconnect>(), 1u);
}

TEST(AgentSession, AnAcknowledgementOfNothingBeginsTheStreamAnew) {
  World world;
  world.Joined().Step({OrdersReceived{NodeOrders{.ack = 999}}});
  EXPECT_EQ(world.Count<Disconnect>(), 1u);
}

TEST(AgentSession, OrdersAreAcknowledgedWhenEveryStartIsJournalled) {
  World world;
  world.Joined().Order({Wants(1), Wants(2)});
  EXPECT_LT(world.report.ack, world.order_seq);
  world.Step({Is(1, AttemptPhase::kStarting)});
  EXPECT_LT(world.report.ack, world.order_seq);
  world.Step({Is(2, AttemptPhase::kRunning)});
  world.Ack();
  EXPECT_EQ(world.report.ack, world.order_seq);
}

TEST(AgentSession, StopAfterIsReArmedFromTheSendTimeOfTheAcknowledgedBeat) {
  World world;
  JobLaunch job = Job(2);
  job.stop_after_ms = 60000;
  world.Joined().Orders(NodeOrders{.jobs = {job}, .attempts = {Wants(1, 2)}});
  world.Step({Is(1, AttemptPhase::kRunning)}).After(2000);
  ASSERT_NE(world.report.beat, 0u);
  uint64_t beat = world.report.beat;
  world.now.mono += 500;
  world.Step({OrdersReceived{NodeOrders{.beat = beat}}});
  EXPECT_EQ(world.One<RearmStopAfter>().remaining, 59500);
}

}  // namespace
}  // namespace gt::worker
