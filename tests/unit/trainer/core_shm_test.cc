#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "worker/trainer/collective/shm/segment.h"

namespace gt::trainer {
namespace {

constexpr size_t kSlot = 4096;

std::vector<std::unique_ptr<ShmSegment>> MakeRing(int world) {
  std::vector<std::unique_ptr<ShmSegment>> ring;
  ring.push_back(ShmSegment::Create(world, kSlot).value());
  for (int rank = 1; rank < world; ++rank)
    ring.push_back(ShmSegment::Open(ring[0]->Handle(), rank, world, kSlot).value());
  return ring;
}

TEST(ShmSegment, NobodyPassesBeforeAllHaveCome) {
  constexpr int kWorld = 3, kRounds = 2000;
  auto ring = MakeRing(kWorld);
  std::vector<std::thread> threads;
  std::atomic<int> bad{0};
  for (int rank = 0; rank < kWorld; ++rank) {
    threads.emplace_back([&, rank] {
      for (int round = 1; round <= kRounds; ++round) {
        std::memcpy(ring[static_cast<size_t>(rank)]->slot(round & 1, rank), &round, sizeof round);
        if (!ring[static_cast<size_t>(rank)]->Meet().ok()) ++bad;
        for (int peer = 0; peer < kWorld; ++peer) {
          int theirs = 0;
          std::memcpy(&theirs, ring[static_cast<size_t>(rank)]->slot(round & 1, peer), sizeof theirs);
          if (theirs != round) ++bad;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(bad, 0);
}

TEST(ShmSegment, AbortEndsAWaitAtOnce) {
  auto ring = MakeRing(2);
  Status status;
  auto started = std::chrono::steady_clock::now();
  std::thread waiter([&] { status = ring[0]->Meet(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ring[0]->Abort("newer generation");
  waiter.join();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_EQ(status.message(), "newer generation");
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(2));
  EXPECT_FALSE(ring[0]->Meet().ok());  // and stays so
}

TEST(ShmSegment, AKilledPeerIsNoticed) {
  auto segment = ShmSegment::Create(2, kSlot).value();
  std::string handle = segment->Handle();
  pid_t child = fork();
  if (child == 0) {
    auto mine = ShmSegment::Open(handle, 1, 2, kSlot);
    _exit(mine.ok() && (*mine)->Meet().ok() ? 0 : 1);  // comes once, then dies
  }
  ASSERT_TRUE(segment->Meet().ok());
  Status status = segment->Meet();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_NE(status.message().find("rank 1 (pid " + std::to_string(child) + ") is gone"), std::string::npos)
      << status.message();
  int code = 0;
  waitpid(child, &code, 0);
  EXPECT_EQ(code, 0);
}

TEST(ShmSegment, AnotherGroupsHandleIsRefused) {
  auto segment = ShmSegment::Create(2, kSlot).value();
  std::string handle = segment->Handle();
  EXPECT_FALSE(ShmSegment::Open("nonsense", 1, 2, kSlot).ok());
  EXPECT_FALSE(ShmSegment::Open(handle + "0", 1, 2, kSlot).ok());  // another nonce
  EXPECT_FALSE(ShmSegment::Open(handle, 1, 2, kSlot * 2).ok());    // another size
  EXPECT_FALSE(ShmSegment::Open(handle, 1, 3, kSlot).ok());
  EXPECT_TRUE(ShmSegment::Open(handle, 1, 2, kSlot).ok());
}

}  // namespace
}  // namespace gt::trainer
