// Thousands of workers that only beat, over real gRPC: a connection each, a stream each, and one thread for all of their
// beats. They join again by themselves, like real ones.
#pragma once
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "common/text/access.h"
#include "common/base/time.h"
#include "gridtrain/v1/worker_service.grpc.pb.h"

namespace gt::test {

namespace wire = gridtrain::v1;

class Fleet {
 public:
  Fleet(const Access& access, int nodes, Millis beat);
  ~Fleet();
  int size() const { return static_cast<int>(nodes_.size()); }
  int welcomed() const { return welcomed_.load(); }  // in the streams that are open now
  uint64_t beats() const { return beats_.load(); }
  // A beat whose turn came while the one before was still unsent.
  uint64_t late() const { return late_.load(); }

 private:
  class Call;
  struct Node {
    int index = 0;
    std::unique_ptr<wire::WorkerService::Stub> stub;
    std::shared_ptr<Call> call;
    Millis open_at = 0, beat_at = 0;  // mono
  };
  void Run();
  void Tend(Node* node, Millis now);

  const Access access_;
  const Millis beat_;
  std::vector<Node> nodes_;
  std::atomic<int> welcomed_{0};
  std::atomic<uint64_t> beats_{0}, late_{0};
  std::atomic<bool> stopping_{false};
  std::mt19937 random_{7};
  std::thread thread_;
};

}  // namespace gt::test
