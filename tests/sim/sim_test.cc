// A fixed list of seeds, and proof that the simulator would notice: each planted bug must be caught.
#include <gtest/gtest.h>

#include "tests/sim/reduce.h"
#include "tests/sim/simulation.h"

namespace gt::sim {
namespace {

constexpr uint64_t kSeedsPerPart = 10;

class Seeds : public testing::TestWithParam<uint64_t> {};

TEST_P(Seeds, NothingBreaksAndEverythingEnds) {
  for (uint64_t seed = GetParam(); seed < GetParam() + kSeedsPerPart; ++seed) {
    std::string failure = RunApart(MakePlan(seed), {});
    EXPECT_TRUE(failure.empty()) << Report(seed, failure, {}, /*reduce=*/true);
  }
}
INSTANTIATE_TEST_SUITE_P(From, Seeds, testing::Values(1, 11, 21, 31));

class Canaries : public testing::TestWithParam<Canary> {};

TEST_P(Canaries, IsCaught) {
  constexpr uint64_t kWithin = 200;
  for (uint64_t seed = 1; seed <= kWithin; ++seed) {
    std::string failure = RunApart(MakePlan(seed), {.canary = GetParam()});
    if (failure.empty()) continue;
    RecordProperty("seed", static_cast<int>(seed));
    RecordProperty("failure", failure);
    return;
  }
  FAIL() << "a planted bug went unnoticed over " << kWithin << " seeds";
}
INSTANTIATE_TEST_SUITE_P(Planted, Canaries,
                         testing::Values(Canary::kNoFence, Canary::kReplyBeforeCommit, Canary::kFreeEarly,
                                         Canary::kSecondNode, Canary::kLosesRows),
                         [](const testing::TestParamInfo<Canary>& info) {
                           return "Number" + std::to_string(static_cast<int>(info.param));
                         });

TEST(Simulation, IsTheSameEveryTime) {
  for (uint64_t seed : {3, 4, 5}) {
    Outcome one = Simulate(MakePlan(seed), {}), other = Simulate(MakePlan(seed), {});
    EXPECT_EQ(one.turns, other.turns);
    EXPECT_EQ(one.attempts, other.attempts);
    EXPECT_EQ(one.simulated, other.simulated);
  }
}

// A plan that fails shrinks to one that still does.
TEST(Reduction, LeavesLittle) {
  Options options{.canary = Canary::kSecondNode};
  uint64_t seed = 1;
  while (RunApart(MakePlan(seed), options).empty()) ++seed;
  Plan whole = MakePlan(seed), reduced = Reduce(whole, options);
  EXPECT_FALSE(RunApart(reduced, options).empty());
  EXPECT_EQ(reduced.jobs.size(), 1u);
  EXPECT_TRUE(reduced.faults.empty());
}

}  // namespace
}  // namespace gt::sim
