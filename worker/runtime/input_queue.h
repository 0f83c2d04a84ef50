// What waits for the loop thread: inputs from several threads, in order, taken in batches.
#pragma once
#include <condition_variable>
#include <mutex>
#include <vector>

#include "worker/core/agent.h"

namespace gt::worker {

// An input that came over stream `stream`; 0: over none.
struct Arrival {
  uint64_t stream = 0;
  Input input;
};

class InputQueue {
 public:
  static constexpr size_t kBound = 50000;

  // Never blocks. For what is bounded by its source.
  void Put(uint64_t stream, Input input);
  // Waits while the queue is full (a rank that floods is slowed down by its socket, not by our memory). Not for the
  // loop thread.
  void PutAll(std::vector<Input> inputs);
  // Everything that is there; waits for something until `wait` has passed. Empty when woken or late.
  std::vector<Arrival> TakeAll(Millis wait);
  void Wake();
  // From now on nothing blocks and nothing is kept.
  void Close();

 private:
  std::mutex mutex_;
  std::condition_variable filled_, drained_;
  std::vector<Arrival> arrivals_;
  bool woken_ = false, closed_ = false;
};

}  // namespace gt::worker
