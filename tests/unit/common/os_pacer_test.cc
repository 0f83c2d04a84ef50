#include "common/os/pacer.h"

#include <gtest/gtest.h>

namespace gt {
namespace {

using std::chrono::milliseconds;

class PacerTest : public testing::Test {
 protected:
  milliseconds DelayAt(int ms) { return std::chrono::duration_cast<milliseconds>(pacer.Delay(start + milliseconds(ms))); }
  Pacer pacer{milliseconds(4), 3};
  Pacer::Clock::time_point start = Pacer::Clock::time_point{} + std::chrono::hours(1);
};

TEST_F(PacerTest, ABurstIsDealtWithAtOnce) {
  for (int i = 0; i < 4; ++i) EXPECT_EQ(DelayAt(0), milliseconds(0)) << i;
  EXPECT_EQ(DelayAt(0), milliseconds(4));
}

TEST_F(PacerTest, AStreamTurnsOnceEachPace) {
  for (int i = 0; i < 4; ++i) DelayAt(0);
  EXPECT_EQ(DelayAt(1), milliseconds(3));  // begins at 4
  EXPECT_EQ(DelayAt(4), milliseconds(4));  // at 8
  EXPECT_EQ(DelayAt(9), milliseconds(3));  // at 12
}

TEST_F(PacerTest, WhatComesSlowerThanThePaceNeverWaits) {
  for (int at = 0; at < 400; at += 4) EXPECT_EQ(DelayAt(at), milliseconds(0)) << at;
}

TEST_F(PacerTest, APauseGivesTheBurstBack) {
  for (int i = 0; i < 8; ++i) DelayAt(0);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(DelayAt(1000), milliseconds(0)) << i;
  EXPECT_EQ(DelayAt(1000), milliseconds(4));
}

}  // namespace
}  // namespace gt
