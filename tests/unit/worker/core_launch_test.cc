#include <gmock/gmock.h>

#include <map>

#include "tests/unit/worker/agent_world.h"

namespace gt::worker {
namespace {

const NodeFacts kFacts{"10.0.0.5", "eth0", "/opt/gt-trainer", "/ckpt", {{"PATH", "/usr/bin"}, {"HOME", "/root"}}};

std::map<std::string, std::string> EnvOf(const JobLaunch& job, const AttemptOrder& order) {
  LauncherStart start = BuildStart(job, order, kFacts).value();
  return {start.env.begin(), start.env.end()};
}

TEST(Launch, TheEnvironmentIsTheMachinesThenTheJobsThenOurs) {
  JobLaunch job = Job(4);
  job.cpus_per_process = 3;
  job.env = {{"PATH", "/mine"}, {"GT_JOB_ID", "99"}, {"OMP_NUM_THREADS", "7"}};
  AttemptOrder order = Wants(1, 4);
  order.group_world_size = 2;
  auto env = EnvOf(job, order);
  EXPECT_EQ(env["PATH"], "/mine");
  EXPECT_EQ(env["HOME"], "/root");
  EXPECT_EQ(env["GT_JOB_ID"], "4");
  EXPECT_EQ(env["OMP_NUM_THREADS"], "7");
  EXPECT_EQ(env["NCCL_SOCKET_IFNAME"], "eth0");
  EXPECT_EQ(env["PYTHONUNBUFFERED"], "1");
  EXPECT_EQ(env["CUDA_DEVICE_ORDER"], "PCI_BUS_ID");
}

TEST(Launch, AJobWithoutGpusSeesNone) {
  AttemptOrder order = Wants(1);
  EXPECT_EQ(EnvOf(Job(1), order).at("CUDA_VISIBLE_DEVICES"), "");
  order.gpu_uuids = {"GPU-a", "GPU-b"};
  EXPECT_EQ(EnvOf(Job(1), order).at("CUDA_VISIBLE_DEVICES"), "GPU-a,GPU-b");
}

TEST(Launch, CheckpointsLieUnderJobAndTask) {
  JobLaunch job = Job(4);
  job.spec_json = "{}";
  AttemptOrder order = Wants(1, 4);
  order.task_index = 7;
  order.resume_from = "/ckpt/4/7/aa/step-9";
  LauncherStart start = BuildStart(job, order, kFacts).value();
  EXPECT_EQ(start.make_dir, "/ckpt/4/7");
  EXPECT_EQ(EnvOf(job, order)["GT_CHECKPOINT_DIR"], "/ckpt/4/7");
  EXPECT_EQ(EnvOf(job, order)["GT_RESUME_FROM"], "/ckpt/4/7/aa/step-9");
  job.checkpoint_dir = "/shared";
  EXPECT_EQ(BuildStart(job, order, kFacts).value().make_dir, "/shared/4/7");
}

TEST(Launch, TheTrainerIsTheNodesOwn) {
  JobLaunch job = Job(1);
  job.argv = {"{trainer}", "{spec}"};
  EXPECT_THAT(BuildStart(job, Wants(1), kFacts).value().argv, testing::ElementsAre("/opt/gt-trainer", "{spec}"));
}

TEST(Launch, RanksShareTheGpusInOrder) {
  JobLaunch job = Job(1);
  job.processes_per_node = 2;
  AttemptOrder order = Wants(1);
  order.gpu_uuids = {"a", "b", "c", "d"};
  using Shares = std::vector<std::vector<std::string>>;
  EXPECT_EQ(BuildStart(job, order, kFacts).value().rank_gpus, (Shares{{"a", "b"}, {"c", "d"}}));
  order.gpu_uuids = {"a"};
  EXPECT_EQ(BuildStart(job, order, kFacts).value().rank_gpus, (Shares{{}, {"a"}}));
}

TEST(Launch, AResumePathComesOnlyFromTheCoordinator) {
  JobLaunch job = Job(1);
  job.env = {{"GT_RESUME_FROM", "/forged"}};
  EXPECT_EQ(EnvOf(job, Wants(1)).count("GT_RESUME_FROM"), 0u);
}

TEST(Launch, RanksAreNumberedOverTheGang) {
  JobLaunch job = Job(1);
  job.processes_per_node = 4;
  AttemptOrder order = Wants(1);
  order.group_rank = 2;
  order.group_world_size = 3;
  LauncherStart start = BuildStart(job, order, kFacts).value();
  EXPECT_EQ(start.first_rank, 8u);
  EXPECT_EQ(start.world_size, 12u);
  EXPECT_EQ(start.rank_gpus.size(), 4u);
}

TEST(Launch, RefusesWhatNoProcessCouldBeGiven) {
  JobLaunch job = Job(1);
  auto message = [&] { return BuildStart(job, Wants(1), kFacts).status().message(); };
  job.argv = {};
  EXPECT_THAT(message(), testing::HasSubstr("command is empty"));
  job = Job(1);
  job.argv.push_back(std::string("a\0b", 3));
  EXPECT_THAT(message(), testing::HasSubstr("NUL"));
  job = Job(1);
  job.env = {{"A=B", "c"}};
  EXPECT_THAT(message(), testing::HasSubstr("A=B"));
  job = Job(1);
  job.processes_per_node = 0;
  EXPECT_THAT(message(), testing::HasSubstr("processes_per_node"));
}

}  // namespace
}  // namespace gt::worker
