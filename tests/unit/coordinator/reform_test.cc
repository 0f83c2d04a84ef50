// Gangs that live on when ranks of them die: the next generation, who is in it, what it costs, and when there is none.
#include <gmock/gmock.h>

#include "tests/support/world.h"

namespace gt::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint16_t kPort = 4000;

// What a node says whose one rank has joined the generation.
Formation Joined(uint32_t generation, uint64_t redone = 0) {
  return {.joined = {generation}, .survives = true, .addr = "10.0.0.7", .port = kPort, .redone_samples = redone};
}
Formation Down(uint32_t rank, uint32_t born, int signal = 9) {
  return {.down = {{.rank = rank, .born = {born}, .signal = signal}}};
}

// A training job over nodes a, b, ..., one rank a node, that has formed its first generation.
struct Training {
  World world;
  JobId job;
  Uid uid;
  std::vector<std::string> nodes;

  explicit Training(int size, int retries = 3, std::vector<std::string> spares = {}, Policy policy = {}) : world(policy) {
    for (int i = 0; i < size; ++i) nodes.push_back(std::string(1, static_cast<char>('a' + i)));
    for (const std::string& name : nodes) world.Join(name);
    Job draft = AGang(size);
    draft.contract = true;
    draft.retry.user = retries;
    job = world.Submit(draft);
    uid = world.AttemptOf(job);
    for (const std::string& name : spares) world.Join(name);
    for (const std::string& name : nodes) world.ReportPhase(name, uid, kRunning);
    for (const std::string& name : nodes) Say(name, Joined(1));
    for (const std::string& name : nodes) world.TakeOrders(name);
  }
  void Say(const std::string& node, Formation formation) {
    world.Report(node, {.uid = uid, .generation = Now(), .phase = kRunning, .formation = std::move(formation)});
  }
  Generation Now() const {
    const Attempt* attempt = world.engine.state().FindAttempt(uid);
    return attempt == nullptr ? Generation{1} : attempt->rendezvous.generation;
  }
  const Attempt& attempt() const { return world.TheAttempt(job); }
  AttemptOrder OrderOf(const std::string& node) {
    Orders orders = world.TakeOrders(node);
    EXPECT_EQ(orders.attempts.size(), 1u) << "orders for " << node;
    return orders.attempts.empty() ? AttemptOrder{} : orders.attempts.front();
  }
  std::string HistoryOf(const std::string& kind) const {
    for (auto line = world.history.rbegin(); line != world.history.rend(); ++line)
      if (line->kind == kind) return line->text;
    return "nothing";
  }
};

TEST(Reform, ADeadRankIsReplacedOnItsNodeInTheNextGenerationOfTheSameAttempt) {
  Training t(2);
  t.Say("b", Down(1, 1));
  EXPECT_EQ(t.world.AttemptOf(t.job), t.uid);
  EXPECT_EQ(t.attempt().phase, kRunning);
  AttemptOrder survivor = t.OrderOf("a"), dead = t.OrderOf("b");
  EXPECT_FALSE(survivor.stop);
  EXPECT_EQ(survivor.generation, Generation{2});
  EXPECT_EQ(survivor.master_port, kPort) << "they meet at a rank that has the state";
  EXPECT_THAT(survivor.born, ElementsAre(Generation{1}));
  EXPECT_EQ(dead.generation, Generation{2});
  EXPECT_EQ(dead.master_port, kPort);
  EXPECT_THAT(dead.born, ElementsAre(Generation{2}));
  EXPECT_THAT(t.HistoryOf("REFORMING"), HasSubstr("rank 1 on node b was killed by signal 9; forming generation 2"));
}

TEST(Reform, OnceAllHaveJoinedItRunsOnAndTheHistoryTellsWhatItTook) {
  Training t(2);
  t.Say("b", Down(1, 1));
  EXPECT_THAT(t.world.Why(t.job), HasSubstr("re-forming as generation 2 since rank 1 on node b was killed by signal 9; awaited: a, b; given up in 2m"));
  t.world.AdvanceBeating(300, {"a", "b"});
  t.Say("a", Joined(2, 64));
  EXPECT_THAT(t.world.Why(t.job), HasSubstr("awaited: b"));
  t.Say("b", Joined(2));
  EXPECT_EQ(t.HistoryOf("REFORMED"), "generation 2 after 300ms, 64 samples are done again");
  EXPECT_THAT(t.world.Why(t.job), HasSubstr("running on a, b"));
  t.world.AdvanceBeating(10 * kMinute, {"a", "b"});
  EXPECT_EQ(t.attempt().phase, kRunning);
}

TEST(Reform, RankZeroIsNoException) {
  Training t(2);
  t.Say("a", Down(0, 1));
  EXPECT_EQ(t.OrderOf("b").master_port, kPort);
  EXPECT_THAT(t.OrderOf("a").born, ElementsAre(Generation{2}));
}

TEST(Reform, OnOneNodeTheRanksThatLiveGoOn) {
  World world;
  world.Join("a");
  Job draft = AJob();
  draft.contract = true;
  draft.ranks_per_node = 3;
  draft.retry.user = 1;
  JobId job = world.Submit(draft);
  Uid uid = world.AttemptOf(job);
  world.Report("a", {.uid = uid, .phase = kRunning, .formation = Joined(1)});
  world.TakeOrders("a");
  Formation down = Joined(0);
  down.down = {{.rank = 2, .born = {1}, .code = 7}, {.rank = 0, .born = {1}, .code = 7}};
  world.Report("a", {.uid = uid, .phase = kRunning, .formation = down});
  Orders orders = world.TakeOrders("a");
  ASSERT_EQ(orders.attempts.size(), 1u);
  EXPECT_THAT(orders.attempts[0].born, ElementsAre(Generation{2}, Generation{1}, Generation{2}));
  EXPECT_EQ(world.engine.state().FindTask({job, 0})->user_failures, 1) << "one generation is one retry";
}

TEST(Reform, WhatIsSaidAgainOrOfAnEarlierGenerationChangesNothing) {
  Training t(2);
  t.Say("b", Down(1, 1));
  t.Say("b", Down(1, 1));
  t.world.Report("b", {.uid = t.uid, .generation = {1}, .phase = kRunning, .progress = Progress{.step = 99}, .checkpoint = "/ck",
                       .checkpoint_step = 99, .formation = Down(1, 1)});
  t.Say("a", Joined(7));
  EXPECT_EQ(t.Now(), Generation{2});
  EXPECT_EQ(t.attempt().progress.step, 0u);
  EXPECT_EQ(t.world.engine.state().FindTask({t.job, 0})->checkpoint, "");
  EXPECT_EQ(t.attempt().reform.formed, Generation{1});
}

TEST(Reform, ASecondDeathWhileItFormsIsAnsweredByAFurtherGenerationWithTheSameDeadline) {
  Training t(3);
  t.Say("b", Down(1, 1));
  Millis deadline = t.attempt().deadline;
  t.world.AdvanceBeating(kSecond, {"a", "b", "c"});
  t.Say("c", Down(2, 1));
  EXPECT_EQ(t.Now(), Generation{3});
  EXPECT_THAT(t.OrderOf("c").born, ElementsAre(Generation{3}));
  t.Say("b", Down(1, 2));
  EXPECT_EQ(t.Now(), Generation{4});
  EXPECT_THAT(t.OrderOf("b").born, ElementsAre(Generation{4}));
  EXPECT_EQ(t.attempt().deadline, deadline);
  EXPECT_EQ(t.attempt().rendezvous.port, kPort);
}

TEST(Reform, WithoutASurvivorThereIsNothingToGoOnFrom) {
  Training t(2);
  t.Say("b", Down(1, 1));
  t.Say("a", Down(0, 1));
  EXPECT_EQ(t.attempt().phase, AttemptPhase::kStopping);
  EXPECT_EQ(t.attempt().failure.rank, 0);
}

TEST(Reform, ADeathBeforeAllHaveJoinedEndsTheGang) {
  World world;
  world.Join("a");
  world.Join("b");
  Job draft = AGang(2);
  draft.contract = true;
  draft.retry.user = 3;
  JobId job = world.Submit(draft);
  Uid uid = world.AttemptOf(job);
  for (const char* node : {"a", "b"}) world.ReportPhase(node, uid, kRunning);
  world.Report("a", {.uid = uid, .phase = kRunning, .formation = Joined(1)});
  world.Report("b", {.uid = uid, .phase = kRunning, .formation = Down(1, 1)});
  EXPECT_EQ(world.TheAttempt(job).phase, AttemptPhase::kStopping);
}

TEST(Reform, AJobOfTheUsersOwnProgramEndsWithItsRank) {
  World world;
  world.Join("a");
  world.Join("b");
  Job draft = AGang(2);
  draft.retry.user = 3;
  JobId job = world.Submit(draft);
  Uid uid = world.AttemptOf(job);
  for (const char* node : {"a", "b"}) world.ReportPhase(node, uid, kRunning);
  for (const char* node : {"a", "b"}) world.Report(node, {.uid = uid, .phase = kRunning, .formation = Joined(1)});
  world.Report("b", {.uid = uid, .phase = kRunning, .formation = Down(1, 1)});
  EXPECT_EQ(world.TheAttempt(job).phase, AttemptPhase::kStopping);
}

TEST(Reform, EveryGenerationIsARetryOfTheUsersAndWithoutOneTheJobFails) {
  Training t(2, /*retries=*/1);
  t.Say("b", Down(1, 1));
  t.Say("a", Joined(2));
  t.Say("b", Joined(2));
  t.Say("b", Down(1, 2));
  EXPECT_EQ(t.attempt().phase, AttemptPhase::kStopping);
  for (const char* node : {"a", "b"}) t.world.ReportExit(node, t.uid, {.why = ExitReport::Why::kStopped});
  EXPECT_EQ(t.world.StateOf(t.job), TaskState::kFailed);
  EXPECT_EQ(t.world.Finished(t.job).cause, Cause::kSignaled);
  EXPECT_EQ(t.world.Finished(t.job).exit_code, 137);
}

TEST(Reform, PastItsDeadlineANewAttemptStartsFromTheCheckpoint) {
  Training t(2);
  t.world.Report("a", {.uid = t.uid, .phase = kRunning, .progress = Progress{.step = 50, .samples = 500}, .checkpoint = "/ck/40", .checkpoint_step = 40});
  t.Say("b", Down(1, 1));
  t.Say("a", Joined(2));
  t.world.AdvanceBeating(2 * kMinute, {"a", "b"});
  EXPECT_EQ(t.attempt().phase, AttemptPhase::kStopping);
  EXPECT_THAT(t.attempt().failure.message, HasSubstr("did not re-form in time after rank 1 on node b was killed by signal 9; missing: b"));
  for (const char* node : {"a", "b"}) t.world.ReportExit(node, t.uid, {.why = ExitReport::Why::kStopped});
  EXPECT_EQ(t.world.engine.state().FindTask({t.job, 0})->cause, Cause::kRendezvousTimeout);
  EXPECT_THAT(t.HistoryOf("REQUEUED"), HasSubstr("from the checkpoint of step 40, 10 steps (about 100 samples) are done again"));
  t.world.AdvanceBeating(2 * kSecond, {"a", "b"});
  EXPECT_NE(t.world.AttemptOf(t.job), t.uid);
  EXPECT_EQ(t.attempt().resume_from, "/ck/40");
}

TEST(Reform, WithoutATimeoutEveryDeathEndsTheGang) {
  Training t(2, 3, {}, {.reform_timeout = 0});
  t.Say("b", Down(1, 1));
  EXPECT_EQ(t.attempt().phase, AttemptPhase::kStopping);
}

TEST(Reform, TheRanksOfALostNodeMoveToAnother) {
  Training t(2, 0, {"spare"});
  t.world.AdvanceBeating(31 * kSecond, {"a", "spare"});
  EXPECT_EQ(t.world.Where(t.job), "a spare");
  EXPECT_EQ(t.world.AttemptOf(t.job), t.uid);
  AttemptOrder moved = t.OrderOf("spare");
  EXPECT_EQ(moved.generation, Generation{2});
  EXPECT_EQ(moved.group_rank, 1u);
  EXPECT_EQ(moved.master_port, kPort);
  EXPECT_EQ(t.world.engine.state().FindTask({t.job, 0})->user_failures, 0);
  EXPECT_EQ(t.world.engine.state().FindTask({t.job, 0})->infra_failures_wall.size(), 1u);
  t.world.Join("b", 8, {}, {t.uid});
  EXPECT_TRUE(t.OrderOf("b").stop) << "the copy that was left behind is nobody's";
  t.Say("a", Joined(2));
  t.world.ReportPhase("spare", t.uid, kRunning);
  t.Say("spare", Joined(2));
  EXPECT_THAT(t.HistoryOf("REFORMED"), HasSubstr("generation 2"));
}

TEST(Reform, ARebootedNodesRanksMoveAtOnce) {
  Training t(2, 0, {"spare"});
  t.world.Join("b", 8, {}, {}, "boot-2");
  EXPECT_EQ(t.world.Where(t.job), "a spare");
}

TEST(Reform, WhereNoOtherNodeFitsALostNodeEndsTheGang) {
  Training t(2);
  t.world.AdvanceBeating(31 * kSecond, {"a"});
  EXPECT_EQ(t.attempt().failure.cause, Cause::kNodeLost);
}

TEST(Reform, ACoordinatorThatRestartsGoesOnWhereItWas) {
  Training t(2);
  t.Say("b", Down(1, 1));
  t.world.Restart();
  t.world.Hello("a", {.cpus = 8, .memory = 64ll << 30, .address = "10.0.0.1"});
  t.world.Hello("b", {.cpus = 8, .memory = 64ll << 30, .address = "10.0.0.2"});
  t.world.Snapshot("b", {{.uid = t.uid, .generation = {2}, .phase = kRunning, .formation = Formation{}}});
  t.world.Snapshot("a", {{.uid = t.uid, .generation = {2}, .phase = kRunning, .formation = Joined(2)}});
  EXPECT_EQ(t.Now(), Generation{2});
  EXPECT_THAT(t.OrderOf("b").born, ElementsAre(Generation{2}));
  t.Say("b", Joined(2));
  EXPECT_THAT(t.HistoryOf("REFORMED"), HasSubstr("generation 2"));
}

TEST(Reform, ADeathThatNobodyHasHeardOfIsAnsweredAfterARestart) {
  Training t(2);
  t.world.Restart();
  t.world.Hello("b", {.cpus = 8, .memory = 64ll << 30, .address = "10.0.0.2"});
  t.world.Snapshot("b", {{.uid = t.uid, .generation = {1}, .phase = kRunning, .formation = Down(1, 1)}});
  EXPECT_EQ(t.Now(), Generation{2});
  EXPECT_EQ(t.OrderOf("b").master_port, 0) << "where they meet is not known before a survivor has spoken";
  t.world.Hello("a", {.cpus = 8, .memory = 64ll << 30, .address = "10.0.0.1"});
  t.world.Snapshot("a", {{.uid = t.uid, .generation = {1}, .phase = kRunning, .formation = Joined(1)}});
  EXPECT_EQ(t.OrderOf("b").master_port, kPort);
}

TEST(Reform, ACancelEndsItInTheMiddle) {
  Training t(2);
  t.Say("b", Down(1, 1));
  t.world.Cancel(t.job);
  EXPECT_TRUE(t.OrderOf("a").stop);
  t.Say("b", Down(1, 2));
  for (const char* node : {"a", "b"}) t.world.ReportExit(node, t.uid, {.why = ExitReport::Why::kStopped});
  EXPECT_EQ(t.world.StateOf(t.job), TaskState::kCancelled);
}

}  // namespace
}  // namespace gt::test
