#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "worker/trainer/contract/environment.h"
#include "worker/trainer/contract/messages.h"

namespace gt::trainer {
namespace {

Result<Environment> Read(const std::map<std::string, std::string>& variables) {
  return ReadEnvironment([&](const char* name) {
    auto it = variables.find(name);
    return it == variables.end() ? std::string() : it->second;
  });
}

TEST(Environment, EmptyMeansOneProcess) {
  Result<Environment> env = Read({});
  ASSERT_TRUE(env.ok());
  EXPECT_EQ(env->world_size, 0);
  EXPECT_FALSE(env->wants_gpu);
  EXPECT_EQ(env->attempt_uid, "local");
}

TEST(Environment, UnderstandsTorchrun) {
  Result<Environment> env = Read({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "h"}, {"MASTER_PORT", "29500"},
                                  {"TORCHELASTIC_USE_AGENT_STORE", "True"}, {"TORCHELASTIC_RUN_ID", "none"}});
  ASSERT_TRUE(env.ok());
  EXPECT_EQ(env->rank, 1);
  EXPECT_TRUE(env->agent_store);
  EXPECT_EQ(env->attempt_uid, "local");
}

TEST(Environment, RefusesWhatCannotBe) {
  EXPECT_FALSE(Read({{"RANK", "2"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "h"}, {"MASTER_PORT", "1"}}).ok());
  EXPECT_FALSE(Read({{"RANK", "x"}}).ok());
  EXPECT_FALSE(Read({{"WORLD_SIZE", "2"}}).ok());  // nowhere to meet
  EXPECT_FALSE(Read({{"GT_COLLECTIVE", "mpi"}}).ok());
  EXPECT_FALSE(Read({{"GT_ATTEMPT_UID", "../x"}}).ok());
}

TEST(Environment, WantsAGpuWhenToldSo) {
  EXPECT_TRUE(Read({{"GT_GPUS", "1"}})->wants_gpu);
  EXPECT_TRUE(Read({{"CUDA_VISIBLE_DEVICES", "GPU-1"}})->wants_gpu);
  EXPECT_FALSE(Read({{"GT_GPUS", "0"}, {"CUDA_VISIBLE_DEVICES", "GPU-1"}})->wants_gpu);
  EXPECT_FALSE(Read({{"CUDA_VISIBLE_DEVICES", "-1"}})->wants_gpu);
}

TEST(Messages, ReadsARendezvous) {
  auto message = ParseLauncherMessage(
      R"({"type":"rendezvous","generation":3,"rank":1,"world_size":2,"store_addr":"10.0.0.1","store_port":4000,"x":1})");
  ASSERT_TRUE(message);
  EXPECT_EQ(message->kind, LauncherMessage::Kind::kRendezvous);
  EXPECT_EQ(message->rendezvous.generation, Generation{3});
  EXPECT_EQ(message->rendezvous.store_addr, "10.0.0.1");
}

TEST(Messages, IgnoresWhatItDoesNotKnowOrCannotBe) {
  EXPECT_FALSE(ParseLauncherMessage(""));
  EXPECT_FALSE(ParseLauncherMessage("{"));
  EXPECT_FALSE(ParseLauncherMessage("[1]"));
  EXPECT_FALSE(ParseLauncherMessage(R"({"type":7})"));
  EXPECT_FALSE(ParseLauncherMessage(R"({"type":"news"})"));
  EXPECT_FALSE(ParseLauncherMessage(R"({"type":"rendezvous","generation":0,"rank":0,"world_size":1})"));
  EXPECT_FALSE(ParseLauncherMessage(
      R"({"type":"rendezvous","generation":1,"rank":2,"world_size":2,"store_addr":"a","store_port":1})"));
  EXPECT_FALSE(
      ParseLauncherMessage(R"({"type":"rendezvous","generation":1,"rank":0,"world_size":2})"));  // no store to meet at
  EXPECT_TRUE(ParseLauncherMessage(R"({"type":"rendezvous","generation":1,"rank":0,"world_size":1})"));
  EXPECT_TRUE(ParseLauncherMessage(R"({"type":"stop"})"));
}

TEST(Messages, AreOneLineEach) {
  std::string line = EncodeFailure("first\nsecond \"quoted\" \xff", "data");
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  auto json = nlohmann::json::parse(line, nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["type"], "failure");
  EXPECT_EQ(json["kind"], "data");
}

}  // namespace
}  // namespace gt::trainer
