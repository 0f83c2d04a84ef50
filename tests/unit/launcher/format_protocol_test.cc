#include <gtest/gtest.h>

#include "worker/launcher/protocol.h"

namespace gt::launcher {
namespace {

Start FullStart() {
  Start start;
  start.uid = {1, 2};
  start.job_id = {42};
  start.task_index = 7;
  start.array = true;
  start.first_rank = 4;
  start.world_size = 8;
  start.ranks = {{{"GPU-a", "GPU-b"}}, {{"GPU-c"}}};
  start.argv = {"python", "train.py", ""};
  start.env = {{"A", "b"}, {"EMPTY", ""}};
  start.spec_json = std::string("{\"zero\": \"\0\"}", 13);
  start.contract = true;
  start.memory_limit = 1ll << 40;
  start.stop_after = 600'000;
  return start;
}

TEST(Protocol, AStartComesBackAsItWasSent) {
  std::string bytes;
  AppendFrame(FullStart(), &bytes);
  FrameParser parser;
  parser.Append(bytes);
  auto message = parser.Next();
  ASSERT_TRUE(message.ok() && message->has_value());
  const auto& got = std::get<Start>(**message);
  Start want = FullStart();
  EXPECT_EQ(got.uid, want.uid);
  EXPECT_EQ(got.argv, want.argv);
  EXPECT_EQ(got.env, want.env);
  EXPECT_EQ(got.spec_json, want.spec_json);
  EXPECT_EQ(got.ranks[0].gpus, want.ranks[0].gpus);
  EXPECT_EQ(got.stop_after, want.stop_after);
  EXPECT_TRUE(got.array && got.contract && !got.hold_port);
}

TEST(Protocol, MessagesArriveOneByOneHoweverTheBytesAreCut) {
  std::string bytes;
  AppendFrame(Stop{{5, 6}, 250, StopWhy::kPreempt}, &bytes);
  AppendFrame(State{.uid = {5, 6}, .phase = Phase::kEnded, .exit = {.ranks = {{.rank = 3, .tail = "boom"}}}}, &bytes);
  AppendFrame(SnapshotEnd{}, &bytes);
  FrameParser parser;
  std::vector<Message> got;
  for (char byte : bytes) {
    parser.Append({&byte, 1});
    auto message = parser.Next();
    ASSERT_TRUE(message.ok());
    if (message->has_value()) got.push_back(**message);
  }
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(std::get<Stop>(got[0]).grace, 250);
  EXPECT_EQ(std::get<State>(got[1]).exit.ranks[0].tail, "boom");
  EXPECT_TRUE(std::holds_alternative<SnapshotEnd>(got[2]));
}

TEST(Protocol, LongerPayloadsAndUnknownTypesOfALaterVersionAreSkipped) {
  std::string payload;
  Writer write(&payload);
  write(MessageType::kSpoolAck, uint64_t{9}, std::string("a later field"));
  std::string bytes, unknown = "\xEEwhatever";
  Writer frame(&bytes);
  frame(unknown, payload);  // a string is a length and its bytes: just like a frame
  FrameParser parser;
  parser.Append(bytes);
  auto message = parser.Next();
  ASSERT_TRUE(message.ok() && message->has_value());
  EXPECT_EQ(std::get<SpoolAck>(**message).offset, 9u);
}

TEST(Protocol, TornPayloadsAndImpossibleLengthsAreErrors) {
  std::string good;
  AppendFrame(FullStart(), &good);
  for (uint32_t keep = 1; keep + 4 < good.size(); ++keep) {
    std::string torn = good.substr(0, 4 + keep);
    std::memcpy(torn.data(), &keep, sizeof keep);
    FrameParser parser;
    parser.Append(torn);
    EXPECT_FALSE(parser.Next().ok()) << keep;
  }
  for (const std::string& bad : {std::string("\0\0\0\0", 4), std::string("\xFF\xFF\xFF\xFF", 4)}) {
    FrameParser parser;
    parser.Append(bad);
    EXPECT_FALSE(parser.Next().ok());
  }
}

}  // namespace
}  // namespace gt::launcher
