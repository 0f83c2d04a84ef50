#include "tests/support/world.h"

#include <gtest/gtest.h>

namespace gt::test {
namespace {

std::vector<Gpu> Gpus(int count, const std::string& model = "NVIDIA H100 80GB", int64_t memory = 80ll << 30) {
  std::vector<Gpu> gpus;
  for (int i = 0; i < count; ++i) gpus.push_back({.uuid = model + "-" + std::to_string(i), .model = model, .memory = memory});
  return gpus;
}
Job WithGpus(int gpus, std::vector<std::string> models = {}) {
  Job job = AJob();
  job.shape.gpus = gpus;
  job.shape.gpu_models = std::move(models);
  return job;
}

TEST(Placement, AJobStartsOnANodeThatFits) {
  World world;
  world.Join("a");
  JobId job = world.Submit(AJob());
  EXPECT_EQ(world.Where(job), "a");
  EXPECT_EQ(world.TheNode("a").cpus_free, 7);
}

TEST(Placement, AGangStartsWholeOrNotAtAll) {
  World world;
  world.Join("a");
  world.Join("b");
  JobId three = world.Submit([] { Job j = AGang(2); j.shape.nodes = 2; j.shape.cpus = 8; return j; }());
  EXPECT_EQ(world.Where(three), "a b");
  JobId waits = world.Submit(AGang(2));
  EXPECT_EQ(world.Where(waits), "");
  EXPECT_EQ(world.TheNode("a").held.size(), 1u);
  EXPECT_EQ(world.Why(waits), "needs 2 nodes with 1 CPU; 0 free now");
}

TEST(Placement, TwoGangsOfMoreThanHalfTheClusterNeverHoldHalfEach) {
  World world;
  for (const char* name : {"a", "b", "c"}) world.Join(name, 1);
  JobId first = world.Submit(AGang(2)), second = world.Submit(AGang(2));
  EXPECT_NE(world.Where(first), "");
  EXPECT_EQ(world.Where(second), "");
}

TEST(Placement, BestFitLeavesTheLargeNodeFree) {
  World world;
  world.Join("large", 64);
  world.Join("small", 4);
  EXPECT_EQ(world.Where(world.Submit(AJob())), "small");
}

TEST(Placement, CpuTasksSpareTheNodesWithGpus) {
  World world;
  world.Join("gpu", 2, Gpus(1));
  world.Join("cpu", 32);
  EXPECT_EQ(world.Where(world.Submit(AJob())), "cpu");
}

TEST(Placement, GpusAreTakenByUuidAndNeverTwice) {
  World world;
  world.Join("a", 8, Gpus(4));
  JobId first = world.Submit(WithGpus(3)), second = world.Submit(WithGpus(1)), third = world.Submit(WithGpus(1));
  EXPECT_EQ(world.TheAttempt(first).members[0].gpu_uuids.size(), 3u);
  EXPECT_EQ(world.TheAttempt(second).members[0].gpu_uuids, std::vector<std::string>{"NVIDIA H100 80GB-3"});
  EXPECT_EQ(world.Where(third), "");
  EXPECT_EQ(world.Why(third), "needs 1 node with 1 CPU and 1 GPU; 0 free now");
}

TEST(Placement, AGpuModelIsAPartOfItsNameWithoutRegardToCase) {
  World world;
  world.Join("old", 8, Gpus(1, "Tesla T4", 16ll << 30));
  world.Join("new", 8, Gpus(1));
  EXPECT_EQ(world.Where(world.Submit(WithGpus(1, {"h100", "a100"}))), "new");
}

TEST(Placement, HigherPriorityFirstThenTheOrderOfSubmission) {
  World world;
  JobId low = world.Submit([] { Job j = AJob(); j.priority = 10; return j; }());
  JobId first = world.Submit(AJob()), second = world.Submit(AJob());
  world.Join("a", 2);
  EXPECT_EQ(world.Where(first), "a");
  EXPECT_EQ(world.Where(second), "a");
  EXPECT_EQ(world.Where(low), "");
}

TEST(Placement, AHeadThatDoesNotFitKeepsBackWhatItNeedsAndOthersPassElsewhere) {
  World world;
  world.Join("a", 4);
  world.Join("b", 4);
  JobId running = world.Submit([] { Job j = AJob(); j.shape.cpus = 3; return j; }());
  JobId big = world.Submit([] { Job j = AGang(2); j.shape.cpus = 4; return j; }());
  EXPECT_EQ(world.Where(running), "a");
  JobId small = world.Submit(AJob());
  EXPECT_EQ(world.Where(big), "");
  EXPECT_EQ(world.Where(small), "") << "it would delay the gang";
  world.Join("c", 2);
  EXPECT_EQ(world.Where(small), "c") << "the gang cannot use c";
}

TEST(Placement, AnArrayIsPlacedTaskByTask) {
  World world;
  world.Join("a", 3);
  JobId job = world.Submit(AnArray(10, 15));
  EXPECT_EQ(world.engine.state().FindJob(job)->counts, (TaskCounts{.queued = 3, .active = 3}));
  EXPECT_EQ(world.Where(job, 10), "a");
  world.ReportExit("a", world.AttemptOf(job, 11), Exited(0));
  EXPECT_EQ(world.Where(job, 13), "a");
}

TEST(Placement, ATaskThatWaitsIsExplainedByItself) {
  World world;
  world.Join("a", 1);
  JobId job = world.Submit(AnArray(0, 3));
  auto headline = [&](uint32_t index) { return Explain(world.engine.state(), world.policy, job, world.now, index).headline; };
  EXPECT_EQ(headline(0).substr(0, 8), "starting");
  EXPECT_EQ(headline(3), "needs 1 node with 1 CPU; 0 free now");
}

TEST(Placement, ARequestThatNoNodeCouldMeetIsRefusedWithTheLargest) {
  World world;
  EXPECT_FALSE(world.TrySubmit(WithGpus(8)).warnings.empty()) << "nobody has joined: it may come";
  world.Join("a", 8, Gpus(4));
  SubmitReply reply = world.TrySubmit(WithGpus(8));
  ASSERT_EQ(reply.problems.size(), 1u);
  EXPECT_EQ(reply.problems[0], "needs 1 node with 1 CPU and 8 GPUs; no node is that large; the largest is a with 8 CPUs, 64GiB, 4 GPUs");
  EXPECT_EQ(reply.job, JobId{});
}

TEST(Placement, NothingStartsOnADrainingNodeAndExplainSaysSo) {
  World world;
  world.Join("a");
  world.Turn({SetDrain{.node = "a", .drain = true, .reason = "new disk"}});
  JobId job = world.Submit(AJob());
  EXPECT_EQ(world.Where(job), "");
  EXPECT_EQ(Explain(world.engine.state(), world.policy, job, world.now).details.at(0), "node a: draining (new disk)");
  world.Turn({SetDrain{.node = "a", .drain = false}});
  EXPECT_EQ(world.Where(job), "a");
}

TEST(Placement, ManyTasksAreBoundedABatchAndAllStart) {
  Policy policy;
  policy.sweep_batch = 10;
  World world(policy);
  world.Join("a", 100);
  JobId job = world.Submit(AnArray(0, 34));
  EXPECT_EQ(world.engine.state().FindJob(job)->counts.active, 10u);
  for (int i = 0; i < 3; ++i) world.Turn();
  EXPECT_EQ(world.engine.state().FindJob(job)->counts.active, 35u);
}

}  // namespace
}  // namespace gt::test
