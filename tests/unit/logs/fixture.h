#pragma once
#include <gtest/gtest.h>
#include <stdlib.h>

#include "common/base/rng.h"
#include "common/os/file.h"
#include "coordinator/logs/log_store.h"

namespace gt {

class LogTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(dir_.data()), nullptr);
    Reopen();
  }
  void TearDown() override {
    logs_.reset();
    std::ignore = system(("rm -rf " + dir_).c_str());
  }
  void Reopen() {
    logs_.reset();
    auto opened = LogStore::Open(dir_ + "/logs", options_);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    logs_ = std::move(*opened);
  }
  static Uid U(uint64_t n) { return {n * 0x9E3779B97F4A7C15ull, n}; }
  void Add(Uid uid, uint64_t offset, const std::string& data, LogStream from = {0, kStdout}, Millis time = 1000) {
    LogInput input{.uid = uid, .from = from, .offset = offset, .data = data, .time_wall = time};
    Status done = logs_->Append({&input, 1});
    ASSERT_TRUE(done.ok()) << done.message();
  }
  // All of a stream, with notices as they stand; in reads of `step` bytes.
  std::string All(Uid uid, LogStream from = {0, kStdout}, size_t step = 1 << 20, uint64_t offset = 0) {
    std::string all;
    for (;;) {
      auto pieces = logs_->Read(uid, from, offset, step).value();
      if (pieces.empty()) return all;
      for (const LogPiece& piece : pieces) {
        EXPECT_EQ(piece.from, from);
        if (piece.notice.empty()) {
          EXPECT_EQ(piece.offset, offset);
        }
        all += piece.notice + piece.data;
        offset = piece.offset + piece.data.size();
      }
    }
  }
  std::string Merged(Uid uid, LogCursors cursors = {}, LogSelection selection = {}, size_t step = 1 << 20) {
    std::string all;
    for (;;) {
      auto pieces = logs_->ReadMerged(uid, selection, &cursors, step).value();
      if (pieces.empty()) return all;
      for (const LogPiece& piece : pieces) all += piece.notice + piece.data;
    }
  }
  static std::string Noise(uint64_t seed, size_t size) {
    Rng rng(seed);
    std::string text(size, ' ');
    for (char& c : text) c = rng.OneIn(60) ? '\n' : static_cast<char>('a' + rng.Below(26));
    return text;
  }
  uint64_t Size(Uid uid, LogStream from = {0, kStdout}) { return logs_->Sizes(uid).value()[from]; }
  // Files below `sub` of the log directory.
  int Files(const std::string& sub) {
    std::string command = "find " + dir_ + "/logs/" + sub + " -type f | wc -l";
    FILE* pipe = popen(command.c_str(), "r");
    int count = -1;
    EXPECT_EQ(fscanf(pipe, "%d", &count), 1);
    pclose(pipe);
    return count;
  }

  std::string dir_ = "/tmp/gt_logs_XXXXXX";
  LogStoreOptions options_;
  std::unique_ptr<LogStore> logs_;
};

}  // namespace gt
