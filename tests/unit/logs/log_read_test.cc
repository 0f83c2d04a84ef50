#include "tests/unit/logs/fixture.h"

namespace gt {
namespace {

using LogReadTest = LogTest;

TEST_F(LogReadTest, AReaderGoesOnFromAnyByteItLeftOffAt) {
  std::string text = Noise(1, 120'000);
  for (size_t at = 0; at < text.size(); at += 777) Add(U(1), at, text.substr(at, 777));
  for (size_t from : {0, 1, 776, 777, 16'000, 16'384, 50'001, 119'999, 120'000, 200'000})
    EXPECT_EQ(All(U(1), {0, kStdout}, 3001, from), text.substr(std::min(from, text.size()))) << from;
}

TEST_F(LogReadTest, ALimitIsNeverExceeded) {
  Add(U(1), 0, Noise(1, 50'000));
  auto pieces = logs_->Read(U(1), {0, kStdout}, 0, 1234).value();
  size_t size = 0;
  for (const LogPiece& piece : pieces) size += piece.data.size();
  EXPECT_EQ(size, 1234u);
}

TEST_F(LogReadTest, MergedOutputIsInTheOrderOfPrinting) {
  Add(U(1), 0, "1 out 0\n", {0, kStdout}, 1000);
  Add(U(1), 0, "3 err 0\n", {0, kStderr}, 3000);
  Add(U(1), 0, "2 out 1\n", {1, kStdout}, 2000);  // arrived late, printed earlier
  Add(U(1), 8, "4 out 1\n", {1, kStdout}, 4000);
  Add(U(1), 8, "5 same time, later\n", {0, kStdout}, 4000);
  EXPECT_EQ(Merged(U(1)), "1 out 0\n2 out 1\n3 err 0\n4 out 1\n5 same time, later\n");
  EXPECT_EQ(Merged(U(1), {}, {.ranks = {1}}), "2 out 1\n4 out 1\n");
  EXPECT_EQ(Merged(U(1), {}, {.streams = {kStderr}}), "3 err 0\n");
}

TEST_F(LogReadTest, AClockThatGoesBackDoesNotTurnAStreamAround) {
  Add(U(1), 0, "a\n", {0, kStdout}, 9000);
  Add(U(1), 2, "b\n", {0, kStdout}, 1000);
  Add(U(1), 4, "c\n", {0, kStdout}, 5000);
  EXPECT_EQ(Merged(U(1)), "a\nb\nc\n");
}

TEST_F(LogReadTest, MergedReadingInSmallStepsLosesAndRepeatsNothing) {
  Rng rng(5);
  std::map<LogStream, std::string> texts;
  for (int i = 0; i < 400; i++) {
    LogStream from{static_cast<uint32_t>(rng.Below(4)), rng.OneIn(3) ? kStderr : kStdout};
    std::string part = Noise(i, 1 + rng.Below(9000));
    Add(U(1), texts[from].size(), part, from, 1000 + i);
    texts[from] += part;
  }
  LogCursors cursors;
  std::map<LogStream, std::string> got;
  for (;;) {
    auto pieces = logs_->ReadMerged(U(1), {}, &cursors, 1 + rng.Below(50'000)).value();
    if (pieces.empty()) break;
    for (const LogPiece& piece : pieces) {
      EXPECT_EQ(piece.offset, got[piece.from].size());
      got[piece.from] += piece.data;
    }
    if (rng.OneIn(10)) Reopen();
  }
  EXPECT_EQ(got, texts);
}

TEST_F(LogReadTest, ARareStreamIsFoundAmongMegabytesOfOthers) {
  std::string loud = Noise(1, 500'000), rare = "rare one\n";
  Add(U(1), 0, rare, {1, kStderr});
  for (int i = 0; i < 16; i++) Add(U(1), i * 500'000ull, loud, {0, kStdout});
  Add(U(1), rare.size(), "rare two\n", {1, kStderr});
  for (int i = 16; i < 20; i++) Add(U(1), i * 500'000ull, loud, {0, kStdout});
  EXPECT_EQ(All(U(1), {1, kStderr}), "rare one\nrare two\n");
  EXPECT_EQ(All(U(1), {1, kStderr}, 100, 9), "rare two\n");
  LogCursors tail = logs_->Tail(U(1), {.streams = {kStderr}}, 1).value();
  EXPECT_EQ((tail[{1, kStderr}]), rare.size());
}

TEST_F(LogReadTest, TailGivesTheLastLinesOverAllStreams) {
  Add(U(1), 0, "one\ntwo\n", {0, kStdout}, 1000);
  Add(U(1), 0, "three\n", {0, kStderr}, 2000);
  Add(U(1), 8, "four\nfive", {0, kStdout}, 3000);
  auto tail = [&](uint64_t lines, LogSelection selection = {}) {
    return Merged(U(1), logs_->Tail(U(1), selection, lines).value(), selection);
  };
  EXPECT_EQ(tail(0), "");
  EXPECT_EQ(tail(1), "five");
  EXPECT_EQ(tail(2), "four\nfive");
  EXPECT_EQ(tail(3), "three\nfour\nfive");
  EXPECT_EQ(tail(4), "two\nthree\nfour\nfive");
  EXPECT_EQ(tail(100), "one\ntwo\nthree\nfour\nfive");
  EXPECT_EQ(tail(1, {.streams = {kStderr}}), "three\n");
  Add(U(1), 17, "\n");
  EXPECT_EQ(tail(1), "five\n");
}

TEST_F(LogReadTest, TailOfALargeLogReadsItsEndOnly) {
  std::string text;
  for (int i = 0; text.size() < 6'000'000; i++) text += "line " + std::to_string(i) + "\n";
  for (size_t at = 0; at < text.size(); at += 100'000) Add(U(1), at, text.substr(at, 100'000));
  size_t expected = text.rfind('\n', text.size() - 2) + 1;
  EXPECT_EQ((logs_->Tail(U(1), {}, 1).value()[{0, kStdout}]), expected);
  size_t lines_20000 = text.size();
  for (int i = 0; i <= 20'000; i++) lines_20000 = text.rfind('\n', lines_20000 - 1);
  EXPECT_EQ((logs_->Tail(U(1), {}, 20'000).value()[{0, kStdout}]), lines_20000 + 1);
}

TEST_F(LogReadTest, DamageOnDiskIsShownAndWhatFollowsIsRead) {
  Add(U(1), 0, "one\n");
  Add(U(1), 4, "two\n");
  Add(U(1), 8, "three\n");
  std::string path = dir_ + "/logs/segments/0000000001.log";
  std::string bytes = ReadFile(path).value();
  bytes[bytes.find("two")] = 'T';
  FILE* file = fopen(path.c_str(), "r+");
  fwrite(bytes.data(), 1, bytes.size(), file);
  fclose(file);
  EXPECT_EQ(All(U(1)), "one\n[4 bytes of output are damaged on disk here]three\n");
}

TEST_F(LogReadTest, ADeletedAttemptIsGoneAlsoAfterARestartAndTheOthersStay) {
  Add(U(1), 0, "small\n");
  Add(U(2), 0, Noise(2, 100'000));
  Add(U(3), 0, "stays\n");
  int64_t before = logs_->TotalBytes();
  ASSERT_TRUE(logs_->DeleteAttempt(U(1)).ok());
  ASSERT_TRUE(logs_->DeleteAttempt(U(2)).ok());
  EXPECT_LT(logs_->TotalBytes(), before - 90'000);
  for (int i = 0; i < 2; i++) {
    EXPECT_TRUE(logs_->Sizes(U(1))->empty());
    EXPECT_TRUE(logs_->Sizes(U(2))->empty());
    EXPECT_EQ(Merged(U(1)) + Merged(U(2)), "");
    EXPECT_EQ(All(U(3)), "stays\n");
    Reopen();
  }
  EXPECT_EQ(Files("attempts"), 0);
}

TEST_F(LogReadTest, WhatIsOldGoesUnlessItIsKept) {
  options_.segment_bytes = 20'000;
  Reopen();
  std::string large = Noise(1, 50'000);
  for (uint64_t i = 1; i <= 400; i++) Add(U(i), 0, "task " + std::to_string(i) + "\n");
  Add(U(7), 7, "second line\n");
  Add(U(1001), 0, large);
  Add(U(1002), 0, large);
  int64_t before = logs_->TotalBytes();
  auto keep = [&](const Uid& uid) { return uid == U(7) || uid == U(1002); };
  ASSERT_TRUE(logs_->Expire(1000, keep).ok());  // nothing is that old
  EXPECT_EQ(logs_->TotalBytes(), before);
  ASSERT_TRUE(logs_->Expire(INT64_MAX, keep).ok());
  for (int i = 0; i < 2; i++) {
    EXPECT_EQ(All(U(7)), "task 7\nsecond line\n");
    EXPECT_EQ(All(U(1002)), large);
    EXPECT_EQ(All(U(8)) + All(U(1001)), "");
    Reopen();
  }
  EXPECT_LT(logs_->TotalBytes(), 60'000);
  Add(U(7), 19, "third\n");
  EXPECT_EQ(All(U(7)), "task 7\nsecond line\nthird\n");
}

}  // namespace
}  // namespace gt
