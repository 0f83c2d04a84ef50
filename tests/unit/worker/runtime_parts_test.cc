// The parts of the runtime that can be tested without processes.
#include <gmock/gmock.h>

#include "worker/runtime/gpu_inventory.h"
#include "worker/runtime/host_inventory.h"
#include "worker/runtime/launcher_convert.h"

namespace gt::worker {
namespace {

const std::vector<Gpu> kGpus{{"GPU-aaaa", "H100", 1}, {"GPU-abbb", "H100", 1}, {"GPU-cccc", "A100", 1}};

std::string Visible(const std::string& mask) {
  std::string uuids;
  for (const Gpu& gpu : ApplyVisible(kGpus, mask)) uuids += gpu.uuid + " ";
  return uuids;
}

TEST(GpuInventory, HonoursCudaVisibleDevicesAsCudaDoes) {
  EXPECT_EQ(Visible("2,0"), "GPU-cccc GPU-aaaa ");
  EXPECT_EQ(Visible("GPU-ab, GPU-c"), "GPU-abbb GPU-cccc ");
  EXPECT_EQ(Visible("0,7,1"), "GPU-aaaa ");  // what follows an impossible one is not seen
  EXPECT_EQ(Visible("-1"), "");
  EXPECT_EQ(Visible(""), "");
  EXPECT_EQ(Visible("0,0"), "");
}

TEST(GpuInventory, FakesAreStableAndDifferBetweenNodes) {
  EXPECT_EQ(MakeFakeGpus("a", "X", 1, 2, 0), MakeFakeGpus("a", "X", 1, 2, 0));
  EXPECT_NE(MakeFakeGpus("a", "X", 1, 1, 0)[0].uuid, MakeFakeGpus("b", "X", 1, 1, 0)[0].uuid);
  EXPECT_NE(MakeFakeGpus("a", "X", 1, 1, 0)[0].uuid, MakeFakeGpus("a", "X", 1, 1, 1)[0].uuid);
}

TEST(HostInventory, ReadsTheKernelsFiles) {
  EXPECT_DOUBLE_EQ(QuotaOfV2("150000 100000\n"), 1.5);
  EXPECT_LT(QuotaOfV2("max 100000\n"), 0);
  EXPECT_LT(QuotaOfV2(""), 0);
  EXPECT_LT(QuotaOfV1("-1\n", "100000\n"), 0);
  EXPECT_EQ(MemTotal("MemTotal:       16384 kB\nMemFree: 1 kB\n"), 16384 * 1024);
  EXPECT_LT(MemTotal("nothing"), 0);
  EXPECT_EQ(CgroupPath("4:cpu,cpuacct:/a\n0::/b\n", "cpu"), "/a");
  EXPECT_EQ(CgroupPath("4:cpu,cpuacct:/a\n0::/b\n", ""), "/b");
  EXPECT_EQ(CgroupPath("4:cpu,cpuacct:/a\n", "memory"), "");
  EXPECT_GE(UsableCpus(), 1);
  EXPECT_GT(UsableMemory(), 1 << 20);
}

TEST(RankLines, ProgressAndCheckpointsAreRead) {
  auto said =
      ParseRankLine(Uid{1, 2}, R"({"type":"progress","step":5,"phase":"train","metrics":{"loss":0.5,"bad":"x"}})");
  ASSERT_TRUE(said && said->progress);
  EXPECT_EQ(said->progress->step, 5u);
  EXPECT_EQ(said->progress->metrics.size(), 1u);
  auto saved = ParseRankLine(Uid{1, 2}, R"({"type":"checkpoint","step":5,"path":"/c","bytes":7})");
  ASSERT_TRUE(saved && saved->checkpoint);
  EXPECT_EQ(saved->checkpoint->bytes, 7);
}

TEST(RankLines, WhatIsNotOneIsLeftOut) {
  for (const char* line : {"", "x", "[]", "5", "{}", R"({"type":7})", R"({"type":"hello"})", R"({"type":"joined"})"})
    EXPECT_FALSE(ParseRankLine(Uid{1, 2}, line)) << line;
  auto said = ParseRankLine(Uid{1, 2}, R"({"type":"progress","step":-5,"phase":7,"metrics":[]})");
  ASSERT_TRUE(said);
  EXPECT_EQ(said->progress->step, 0u);
}

TEST(RankLines, SizesAreBounded) {
  std::string many = R"({"type":"progress","metrics":{)";
  for (int i = 0; i < 1000; ++i) many += (i ? ",\"m" : "\"m") + std::to_string(i) + "\":1";
  EXPECT_EQ(ParseRankLine(Uid{1, 2}, many + "}}")->progress->metrics.size(), 64u);
  std::string path(100000, 'p');
  std::string saved = R"({"type":"checkpoint","path":")" + path + "\"}";
  EXPECT_EQ(ParseRankLine(Uid{1, 2}, saved)->checkpoint->path.size(), 4096u);
}

TEST(LauncherConvert, AHeldPortIsReachedAtTheNodesAddress) {
  launcher::State state;
  state.phase = launcher::Phase::kPrepared;
  state.prepared_port = 20001;
  EXPECT_EQ(FromLauncher(state, "10.0.0.5").endpoint, (Endpoint{"10.0.0.5", 20001}));
  EXPECT_EQ(FromLauncher(state, "10.0.0.5").phase, AttemptPhase::kStarting);
}

}  // namespace
}  // namespace gt::worker
