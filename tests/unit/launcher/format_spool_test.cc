#include <gtest/gtest.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/os/file.h"
#include "worker/launcher/spool.h"

namespace gt::launcher {
namespace {

class SpoolTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(mkdtemp(dir_.data()), nullptr); }
  void TearDown() override { std::ignore = system(("rm -rf " + dir_).c_str()); }

  std::vector<SpoolFrame> ReadAll(uint64_t from, uint64_t end, size_t limit = 1 << 20) {
    SpoolReader reader(dir_);
    std::vector<SpoolFrame> all;
    while (true) {
      auto frames = reader.Next(from, end, limit);
      EXPECT_TRUE(frames.ok()) << frames.status().message();
      if (!frames.ok() || frames->empty()) return all;
      from = frames->back().next;
      all.insert(all.end(), frames->begin(), frames->end());
    }
  }
  std::string Text(const Uid& uid, uint32_t rank, Stream stream, uint64_t end) {
    std::string text;
    for (const SpoolFrame& frame : ReadAll(0, end)) {
      if (frame.uid != uid || frame.rank != rank || frame.stream != stream) continue;
      EXPECT_EQ(frame.stream_offset, text.size()) << "frames of a stream are contiguous";
      text += frame.bytes;
    }
    return text;
  }

  std::string dir_ = "/tmp/gt_spool_XXXXXX";
  Uid a_{1, 1}, b_{2, 2};
};

TEST_F(SpoolTest, ARankThatWasOnAnotherNodeBeforeGoesOnBehindIt) {
  SpoolWriter writer(dir_, {});
  ASSERT_TRUE(writer.Open().ok());
  writer.Begin(a_, 0, 5'000'000'000);
  writer.Append(a_, 0, Stream::kStdout, "hello", 0);
  writer.Append(a_, 0, Stream::kStdout, "again", 0);
  writer.Flush(0);
  std::vector<SpoolFrame> frames = ReadAll(0, writer.end());
  ASSERT_FALSE(frames.empty());
  EXPECT_EQ(frames.front().stream_offset, 5'000'000'000u);
  SpoolWriter::Sizes sizes = writer.Finish(a_, 0, 0);
  EXPECT_EQ(sizes.stdout_bytes, 5'000'000'010);
  EXPECT_EQ(sizes.stderr_bytes, 0) << "nobody waits for what was never printed";
}

TEST_F(SpoolTest, StreamsComeBackByteForByteAcrossSegments) {
  SpoolWriter writer(dir_, {.segment = 4096});
  ASSERT_TRUE(writer.Open().ok());
  std::string want_a, want_b;
  for (int i = 0; i < 500; ++i) {
    std::string line = "line " + std::to_string(i) + "\n";
    writer.Append(a_, 0, Stream::kStdout, line, 0);
    writer.Append(b_, 3, Stream::kStderr, "x" + line, 0);
    want_a += line, want_b += "x" + line;
    if (i % 7 == 0) writer.Flush(0);
  }
  writer.Flush(0);
  EXPECT_GT(ListSegments(dir_)->size(), 5u);
  EXPECT_EQ(Text(a_, 0, Stream::kStdout, writer.end()), want_a);
  EXPECT_EQ(Text(b_, 3, Stream::kStderr, writer.end()), want_b);
  EXPECT_EQ(writer.Finish(a_, 0, 0).stdout_bytes, static_cast<int64_t>(want_a.size()));
  EXPECT_EQ(writer.Finish(b_, 3, 0).stderr_bytes, static_cast<int64_t>(want_b.size()));
}

TEST_F(SpoolTest, AcknowledgingDeletesWholeSegmentsAndReadingGoesOnBehindThem) {
  SpoolWriter writer(dir_, {.segment = 4096});
  ASSERT_TRUE(writer.Open().ok());
  for (int i = 0; i < 200; ++i) writer.Append(a_, 0, Stream::kStdout, std::string(100, 'x'), 0);
  writer.Flush(0);
  size_t before = ListSegments(dir_)->size();
  auto all = ReadAll(0, writer.end());
  ASSERT_EQ(all.size(), 200u);
  writer.Acknowledge(all[99].next);
  EXPECT_LT(ListSegments(dir_)->size(), before);
  EXPECT_EQ(ReadAll(all[99].next, writer.end()).size(), 100u);
  writer.Acknowledge(writer.end());
  EXPECT_EQ(ListSegments(dir_)->size(), 1u) << "the last segment remembers the offset";
}

TEST_F(SpoolTest, AfterARestartATornFrameIsCutOffAndOffsetsOnlyRise) {
  uint64_t old_end = 0;
  {
    SpoolWriter writer(dir_, {});
    ASSERT_TRUE(writer.Open().ok());
    writer.Append(a_, 0, Stream::kStdout, "whole", 0);
    writer.Append(a_, 0, Stream::kStdout, "torn", 0);
    writer.Flush(0);
    old_end = writer.end();
  }
  ASSERT_EQ(truncate(SegmentPath(dir_, 0).c_str(), static_cast<off_t>(old_end) - 1), 0);
  SpoolWriter writer(dir_, {});
  ASSERT_TRUE(writer.Open().ok());
  EXPECT_GE(writer.end(), old_end);
  auto sizes = writer.Recover();
  EXPECT_EQ((sizes[{a_, 0}].stdout_bytes), 5);
  EXPECT_EQ((sizes[{a_, 0}].stderr_bytes), -1);
  writer.Append(b_, 0, Stream::kStdout, "new", 0);
  writer.Flush(0);
  auto all = ReadAll(0, writer.end());
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].bytes, "whole");
  EXPECT_EQ(all[1].bytes, "new");
  EXPECT_GT(all[1].next, old_end);
}

TEST_F(SpoolTest, ARankOverItsCapIsCutWithANoticeAndTheRestIsCounted) {
  SpoolWriter writer(dir_, {.rank = 1000});
  ASSERT_TRUE(writer.Open().ok());
  for (int i = 0; i < 20; ++i) writer.Append(a_, 0, Stream::kStdout, std::string(100, 'x'), 0);
  auto sizes = writer.Finish(a_, 0, 0);
  writer.Flush(0);
  std::string text = Text(a_, 0, Stream::kStdout, writer.end());
  EXPECT_EQ(text.substr(0, 1000), std::string(1000, 'x'));
  EXPECT_NE(text.find("limit of 1KB per rank"), std::string::npos) << text.substr(1000);
  EXPECT_NE(text.find("1000 bytes of output were not kept"), std::string::npos) << text.substr(1000);
  EXPECT_EQ(sizes.lost, 1000);
  EXPECT_EQ(sizes.stdout_bytes, static_cast<int64_t>(text.size()));
}

TEST_F(SpoolTest, AFullNodeDropsWithANoticeAndKeepsAgainOnceAcknowledged) {
  SpoolWriter writer(dir_, {.segment = 4096, .node = 8192});
  ASSERT_TRUE(writer.Open().ok());
  for (int i = 0; i < 200; ++i) writer.Append(a_, 0, Stream::kStdout, std::string(100, 'x'), 0);
  writer.Flush(0);
  EXPECT_NE(writer.trouble(), "");
  std::string before = Text(a_, 0, Stream::kStdout, writer.end());
  EXPECT_NE(before.find("output is not kept from here on: the spool of this node is full"), std::string::npos);
  uint64_t end = writer.end();
  writer.Acknowledge(end);
  writer.Append(a_, 0, Stream::kStdout, "again", 2000);
  writer.Flush(2000);
  EXPECT_EQ(writer.trouble(), "");
  auto frames = ReadAll(end, writer.end());
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_TRUE(frames[0].notice);
  EXPECT_NE(frames[0].bytes.find("bytes of output were not kept"), std::string::npos);
  EXPECT_EQ(frames[1].bytes, "again");
}

TEST_F(SpoolTest, ADamagedFrameIsReportedAndItsSegmentCanBeSkipped) {
  SpoolWriter writer(dir_, {.segment = 4096});
  ASSERT_TRUE(writer.Open().ok());
  for (int i = 0; i < 60; ++i) writer.Append(a_, 0, Stream::kStdout, std::string(100, 'x'), 0);
  writer.Flush(0);
  auto fd = OpenFile(SegmentPath(dir_, 0), O_RDWR);
  ASSERT_TRUE(WriteAllAt(fd->get(), "damage", 148 * 2).ok());
  SpoolReader reader(dir_);
  EXPECT_EQ(reader.Next(0, writer.end(), 1 << 20)->size(), 2u);
  EXPECT_EQ(reader.Next(148 * 2, writer.end(), 1 << 20).status().code(), Code::kDataLoss);
  auto next = reader.SkipSegment(148 * 2, writer.end());
  ASSERT_TRUE(next.ok());
  EXPECT_EQ(*next, (*ListSegments(dir_))[1]);
  EXPECT_FALSE(reader.Next(*next, writer.end(), 1 << 20)->empty());
}

}  // namespace
}  // namespace gt::launcher
