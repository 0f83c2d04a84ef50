// Ranks under a supervisor that speaks the rank contract: kills, new generations, preemption.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "tests/unit/trainer/support/supervisor.h"
#include "worker/trainer/checkpoint/format/manifest.h"

namespace gt::trainer::testing {
namespace {

using nlohmann::json;

json Spec(int64_t epochs) {
  return {{"model", {{"name", "mlp"}, {"hidden", 32}}},
          {"data", {{"format", "synthetic"}, {"samples", 512}}},
          {"batch_size", 16},
          {"epochs", epochs},
          {"checkpoint", {{"every", 0}}},
          {"log_every", 100000}};
}

std::string LastDigest(const Supervisor& supervisor) {
  std::string folder = supervisor.CheckpointFolder() + "/00112233445566778899aabbccddeeff";
  std::vector<int64_t> steps = CompleteSteps(folder);
  if (steps.empty()) return "no checkpoint";
  Result<Manifest> manifest = VerifyCheckpoint(folder + "/" + StepFolder(steps.back()));
  return manifest.ok() ? std::to_string(steps.back()) + " " + manifest->files[0].sha256 : manifest.status().message();
}

int64_t StepOf(Supervisor& supervisor, int rank) {
  json progress = supervisor.Last(rank, "progress");
  return progress.is_null() ? 0 : progress.value("step", int64_t{0});
}

class Elastic : public ::testing::TestWithParam<const char*> {
 protected:
  Variables Collective() const { return {{"GT_COLLECTIVE", GetParam()}}; }
};
INSTANTIATE_TEST_SUITE_P(Schemes, Elastic, ::testing::Values("gloo", "shm"));

// A rank is killed, its replacement healed by the survivor; later the rank that served the store. The end is
// bit-identical to that of a run that nobody disturbed.
TEST_P(Elastic, KilledRanksAreReplacedAndChangeNothing) {
  constexpr int64_t kEpochs = 60;
  std::string undisturbed;
  {
    Supervisor calm(Spec(kEpochs).dump(), Collective());
    for (int rank : {0, 1}) calm.Start(rank);
    ASSERT_TRUE(calm.Form(2));
    EXPECT_EQ(calm.ExitCode(1), 0) << calm.Output(1);
    EXPECT_EQ(calm.ExitCode(0), 0) << calm.Output(0);
    undisturbed = LastDigest(calm);
    ASSERT_EQ(undisturbed.rfind("960 ", 0), 0u) << undisturbed;
  }
  Supervisor wild(Spec(kEpochs).dump(), Collective());
  for (int rank : {0, 1}) wild.Start(rank);
  ASSERT_TRUE(wild.Form(2));
  ASSERT_TRUE(wild.Until([&] { return StepOf(wild, 0) > 0; })) << wild.Output(0);
  for (int victim : {1, 0}) {
    int other = 1 - victim;
    int64_t before = StepOf(wild, other);
    wild.Kill(victim, SIGKILL);
    wild.Start(victim);
    ASSERT_TRUE(wild.Form(2, /*host=*/other));
    ASSERT_TRUE(
        wild.Until([&] { return !wild.Last(victim, "joined").is_null() || !wild.Last(victim, "failure").is_null(); }));
    ASSERT_TRUE(wild.Until([&] { return StepOf(wild, other) > before || !wild.Last(other, "finished").is_null(); }));
  }
  EXPECT_EQ(wild.ExitCode(1), 0) << wild.Output(1);
  EXPECT_EQ(wild.ExitCode(0), 0) << wild.Output(0);
  EXPECT_EQ(LastDigest(wild), undisturbed);
}

// A peer that hangs breaks nothing that throws: only the newer rendezvous frees the rank that waits for it.
TEST_P(Elastic, ANewerRendezvousFreesARankThatWaitsForAHungPeer) {
  Supervisor supervisor(Spec(1000000).dump(), Collective());
  for (int rank : {0, 1}) supervisor.Start(rank);
  ASSERT_TRUE(supervisor.Form(2));
  ASSERT_TRUE(supervisor.Until([&] { return StepOf(supervisor, 0) > 0; }));
  supervisor.Kill(1, SIGSTOP);
  int64_t stuck = 0;
  do stuck = StepOf(supervisor, 0);  // until what was under way has arrived
  while (supervisor.Until([&] { return StepOf(supervisor, 0) != stuck; }, 1500));
  ASSERT_TRUE(supervisor.Form(1));  // rank 0 goes on alone
  ASSERT_TRUE(supervisor.Until([&] { return StepOf(supervisor, 0) > stuck + 10; })) << supervisor.Output(0);
  EXPECT_EQ(supervisor.Last(0, "joined").value("generation", 0), 2);
}

TEST_P(Elastic, OneSigtermMakesAllRanksCheckpointAndAskToRunAgain) {
  Supervisor supervisor(Spec(1000000).dump(), Collective());
  for (int rank : {0, 1}) supervisor.Start(rank);
  ASSERT_TRUE(supervisor.Form(2));
  ASSERT_TRUE(supervisor.Until([&] { return StepOf(supervisor, 0) > 0; }));
  supervisor.Kill(1, SIGTERM);
  EXPECT_EQ(supervisor.ExitCode(0), 75) << supervisor.Output(0);
  EXPECT_EQ(supervisor.ExitCode(1), 75) << supervisor.Output(1);
  json checkpoint = supervisor.Last(0, "checkpoint");
  ASSERT_FALSE(checkpoint.is_null());
  EXPECT_TRUE(VerifyCheckpoint(checkpoint.value("path", "")).ok());
  EXPECT_GT(checkpoint.value("step", 0), 0);
  EXPECT_GT(checkpoint.value("bytes", 0), 0);
}

// The flag cannot travel: a peer hangs. What this rank has is saved all the same, inside the grace.
TEST_P(Elastic, ARankThatHasToGoDoesNotWaitForAHungPeer) {
  Supervisor supervisor(Spec(1000000).dump(), Collective());
  for (int rank : {0, 1}) supervisor.Start(rank);
  ASSERT_TRUE(supervisor.Form(2));
  ASSERT_TRUE(supervisor.Until([&] { return StepOf(supervisor, 0) > 0; }));
  supervisor.Kill(1, SIGSTOP);
  supervisor.Send(0, {{"type", "preempt"}, {"grace_s", 2}});
  EXPECT_EQ(supervisor.ExitCode(0, 10000), 75) << supervisor.Output(0);
  EXPECT_TRUE(VerifyCheckpoint(supervisor.Last(0, "checkpoint").value("path", "")).ok());
}

TEST(Contract, AFailureIsSentAndEndsTheRank) {
  json spec = Spec(1);
  spec["data"] = {{"format", "idx"}, {"path", "/nowhere"}};
  Supervisor supervisor(spec.dump(), {});
  supervisor.Start(0);
  EXPECT_EQ(supervisor.ExitCode(0), 1);
  json failure = supervisor.Last(0, "failure");
  ASSERT_FALSE(failure.is_null());
  EXPECT_EQ(failure.value("kind", ""), "data");
  EXPECT_NE(failure.value("message", "").find("/nowhere"), std::string::npos);
}

TEST(Contract, PreemptAndStopEndARank) {
  for (const char* type : {"preempt", "stop"}) {
    Supervisor supervisor(Spec(1000000).dump(), {});
    supervisor.Start(0);
    ASSERT_TRUE(supervisor.Form(1));
    ASSERT_TRUE(supervisor.Until([&] { return StepOf(supervisor, 0) > 0; }));
    supervisor.Send(0, {{"type", type}, {"grace_s", 5}});
    EXPECT_EQ(supervisor.ExitCode(0), std::string(type) == "stop" ? 143 : 75);
    EXPECT_EQ(supervisor.Last(0, "checkpoint").is_null(), std::string(type) == "stop");
  }
}

TEST(Contract, ARankDoesNotOutliveItsLauncher) {
  Supervisor supervisor(Spec(1000000).dump(), {});
  supervisor.Start(0);
  ASSERT_TRUE(supervisor.Form(1));
  ASSERT_TRUE(supervisor.Until([&] { return StepOf(supervisor, 0) > 0; }));
  supervisor.CloseSocket();
  EXPECT_EQ(supervisor.ExitCode(0, 5000), 1);
  EXPECT_NE(supervisor.Output(0).find("the launcher closed the socket"), std::string::npos);
}

TEST(Contract, ProgressIsRateLimitedAndEndsWithTheTotal) {
  Supervisor supervisor(Spec(20).dump(), {});
  supervisor.Start(0);
  ASSERT_TRUE(supervisor.Form(1));
  EXPECT_EQ(supervisor.ExitCode(0), 0) << supervisor.Output(0);
  size_t train = 0;
  for (const json& message : supervisor.rank(0).messages) train += message.value("phase", "") == "train";
  EXPECT_GE(train, 1u);
  EXPECT_LE(train, 20u);
  json done = supervisor.Last(0, "progress");
  EXPECT_EQ(done.value("phase", ""), "done");
  EXPECT_EQ(done.value("step", 0), done.value("total_steps", -1));
  EXPECT_EQ(supervisor.Last(0, "finished").value("step", 0), 20 * 32);
}

}  // namespace
}  // namespace gt::trainer::testing
