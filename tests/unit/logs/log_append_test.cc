#include <thread>

#include "common/base/crc32c.h"
#include "common/base/vocabulary.h"
#include "tests/unit/logs/fixture.h"

namespace gt {
namespace {

using LogAppendTest = LogTest;

TEST(Crc32cTest, BothWaysGiveTheKnownValues) {
  EXPECT_EQ(Crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(Crc32cPortable("123456789"), 0xE3069283u);
  for (size_t size : {0, 1, 7, 8, 9, 1000}) EXPECT_EQ(Crc32c(std::string(size, 'x')), Crc32cPortable(std::string(size, 'x')));
}

TEST_F(LogAppendTest, WhatWasSentTwiceIsThereOnce) {
  Add(U(1), 0, "hello ");
  Add(U(1), 0, "hello ");
  Add(U(1), 3, "lo world");
  Add(U(1), 0, "he");
  EXPECT_EQ(All(U(1)), "hello world");
  EXPECT_EQ(Size(U(1)), 11u);
}

TEST_F(LogAppendTest, AGapIsVisibleAndTheStreamGoesOn) {
  Add(U(1), 0, "one\n");
  Add(U(1), 1004, "two\n");
  Add(U(1), 4, "too late");
  EXPECT_EQ(All(U(1)), "one\n[1000 bytes of output are missing here]two\n");
}

TEST_F(LogAppendTest, ARankThatMovedGoesOnAndTheReaderIsTold) {
  Add(U(1), 0, "on a\n");
  Add(U(1), kMovedStream, "on b\n");
  Add(U(1), 5, "too late\n");
  EXPECT_EQ(All(U(1)), "on a\n[from here on the rank ran on another node; the last of its output on the one before may be missing]on b\n");
}

TEST_F(LogAppendTest, StreamsAndAttemptsDoNotMix) {
  Add(U(1), 0, "a", {0, kStdout});
  Add(U(1), 0, "b", {0, kStderr});
  Add(U(1), 0, "c", {7, kStdout});
  Add(U(2), 0, "d", {0, kStdout});
  EXPECT_EQ(All(U(1), {0, kStdout}), "a");
  EXPECT_EQ(All(U(1), {0, kStderr}), "b");
  EXPECT_EQ(All(U(1), {7, kStdout}), "c");
  EXPECT_EQ(All(U(2)), "d");
  EXPECT_EQ(logs_->Sizes(U(1))->size(), 3u);
  EXPECT_TRUE(logs_->Sizes(U(3))->empty());
}

TEST_F(LogAppendTest, OneBatchMayHoldManyFramesOfOneStream) {
  std::vector<LogInput> inputs;
  std::string text = Noise(1, 200'000);
  for (size_t at = 0; at < text.size(); at += 100)
    inputs.push_back({.uid = U(1), .offset = at, .data = std::string_view(text).substr(at, 150)});  // each overlaps the next
  ASSERT_TRUE(logs_->Append(inputs).ok());
  EXPECT_EQ(All(U(1)), text);
  Reopen();
  EXPECT_EQ(All(U(1)), text);
}

TEST_F(LogAppendTest, SmallLogsShareAFileAndALargeOneGetsItsOwn) {
  for (uint64_t i = 1; i <= 500; i++) Add(U(i), 0, "task " + std::to_string(i) + "\n");
  EXPECT_EQ(Files("segments"), 1);
  EXPECT_EQ(Files("attempts"), 0);
  std::string large = Noise(5, 300'000);
  for (size_t at = 0; at < large.size(); at += 5000) Add(U(1000), at, large.substr(at, 5000));
  EXPECT_EQ(Files("attempts"), 1);
  EXPECT_EQ(All(U(1000)), large);
  EXPECT_EQ(All(U(77)), "task 77\n");
}

TEST_F(LogAppendTest, WhateverTheSizesTheBytesAreExact) {
  options_.segment_bytes = 30'000;
  options_.attempts_in_memory = 3;
  Reopen();
  Rng rng(11);
  std::vector<std::string> texts(20);
  std::vector<size_t> sent(20, 0);
  for (size_t i = 0; i < texts.size(); i++) texts[i] = Noise(i, rng.OneIn(3) ? rng.Below(1'000'000) : rng.Below(10'000));
  for (int round = 0; round < 600; round++) {
    size_t i = rng.Below(texts.size());
    size_t back = rng.OneIn(4) ? std::min<size_t>(sent[i], rng.Below(3000)) : 0;
    size_t size = std::min(texts[i].size() - sent[i] + back, rng.OneIn(5) ? rng.Below(400'000) : rng.Below(3000));
    Add(U(i), sent[i] - back, texts[i].substr(sent[i] - back, size));
    sent[i] = std::max(sent[i], sent[i] - back + size);
    if (round % 150 == 149) Reopen();
  }
  for (size_t i = 0; i < texts.size(); i++) {
    EXPECT_EQ(Size(U(i)), sent[i]);
    EXPECT_EQ(All(U(i), {0, kStdout}, 10'000), texts[i].substr(0, sent[i])) << i;
  }
  EXPECT_GT(Files("segments"), 2);
}

TEST_F(LogAppendTest, ManyThreadsAppendAtOnce) {
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 8; t++)
    threads.emplace_back([&, t] {
      std::string text = Noise(t, 60'000);
      for (size_t at = 0; at < text.size(); at += 2000) Add(U(t), at, text.substr(at, 2000));
    });
  for (std::thread& thread : threads) thread.join();
  for (uint64_t t = 0; t < 8; t++) EXPECT_EQ(All(U(t)), Noise(t, 60'000));
}

TEST_F(LogAppendTest, ATornTailIsCutBackToTheLastWholeFrame) {
  Add(U(1), 0, "whole\n");
  std::string large = Noise(3, 100'000);
  Add(U(2), 0, large);
  logs_.reset();
  std::string segment = dir_ + "/logs/segments/0000000001.log";
  std::string own = dir_ + "/logs/attempts/" + ToHex(U(2)).substr(0, 2) + "/" + ToHex(U(2)) + ".log";
  for (const std::string& path : {segment, own}) {
    std::string bytes = ReadFile(path).value();
    ASSERT_TRUE(WriteFile(path, bytes + bytes.substr(0, 66)).ok());  // a header and a part of the data, as a crash leaves it
  }
  Reopen();
  EXPECT_EQ(All(U(1)), "whole\n");
  EXPECT_EQ(All(U(2)), large);
  Add(U(1), 6, "more\n");
  Add(U(2), 100'000, "more\n");
  Reopen();
  EXPECT_EQ(All(U(1)), "whole\nmore\n");
  EXPECT_EQ(All(U(2)), large + "more\n");
}

TEST_F(LogAppendTest, ALostIndexOfASegmentIsMadeAgain) {
  options_.segment_bytes = 10'000;
  Reopen();
  for (uint64_t i = 1; i <= 300; i++) Add(U(i), 0, "task " + std::to_string(i) + "\n");
  std::ignore = system(("rm " + dir_ + "/logs/segments/0000000001.idx; echo x > " + dir_ + "/logs/segments/0000000002.idx").c_str());
  Reopen();
  for (uint64_t i = 1; i <= 300; i++) EXPECT_EQ(All(U(i)), "task " + std::to_string(i) + "\n");
}

TEST_F(LogAppendTest, WithoutSpaceNothingIsTakenAndTheSenderIsTold) {
  options_.min_free_bytes = INT64_MAX;
  Reopen();
  LogInput input{.uid = U(1), .data = "x"};
  EXPECT_EQ(logs_->Append({&input, 1}).code(), Code::kResourceExhausted);
  EXPECT_TRUE(logs_->Sizes(U(1))->empty());
}

TEST_F(LogAppendTest, AnAttemptThatPrintsTooMuchIsCutWithANoticeAndSenderAndReaderGoOn) {
  options_.attempt_limit_bytes = 50'000;
  Reopen();
  std::string text = Noise(1, 200'000);
  for (size_t at = 0; at < text.size(); at += 20'000) Add(U(1), at, text.substr(at, 20'000));
  EXPECT_EQ(All(U(1)), text.substr(0, 60'000) + "[the output of this attempt is cut here: it is larger than 50000 bytes]");
  EXPECT_EQ(Size(U(1)), kLogCut);
  Reopen();
  Add(U(1), 200'000, "more");
  EXPECT_EQ(Size(U(1)), kLogCut);
}

TEST_F(LogAppendTest, FollowersAreToldUntilTheyLeave) {
  int told = 0;
  uint64_t id = logs_->Follow(U(1), [&] { told++; });
  Add(U(1), 0, "a");
  Add(U(2), 0, "a");
  Add(U(1), 0, "a");  // nothing new
  EXPECT_EQ(told, 1);
  logs_->Unfollow(id);
  Add(U(1), 1, "b");
  EXPECT_EQ(told, 1);
  uint64_t leaving = 0;
  leaving = logs_->Follow(U(1), [&] { told++, logs_->Unfollow(leaving); });
  Add(U(1), 2, "c");
  Add(U(1), 3, "d");
  EXPECT_EQ(told, 2);
}

}  // namespace
}  // namespace gt
