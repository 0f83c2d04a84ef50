#include "worker/runtime/input_queue.h"

#include <chrono>

namespace gt::worker {

void InputQueue::Put(uint64_t stream, Input input) {
  std::lock_guard lock(mutex_);
  if (closed_) return;
  arrivals_.push_back({stream, std::move(input)});
  filled_.notify_one();
}

void InputQueue::PutAll(std::vector<Input> inputs) {
  std::unique_lock lock(mutex_);
  drained_.wait(lock, [this] { return closed_ || arrivals_.size() < kBound; });
  if (closed_) return;
  for (Input& input : inputs) arrivals_.push_back({0, std::move(input)});
  filled_.notify_one();
}

std::vector<Arrival> InputQueue::TakeAll(Millis wait) {
  std::unique_lock lock(mutex_);
  filled_.wait_for(lock, std::chrono::milliseconds(wait), [this] { return woken_ || !arrivals_.empty(); });
  woken_ = false;
  drained_.notify_all();
  return std::exchange(arrivals_, {});
}

void InputQueue::Wake() {
  std::lock_guard lock(mutex_);
  woken_ = true;
  filled_.notify_one();
}

void InputQueue::Close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
  arrivals_.clear();
  drained_.notify_all();
}

}  // namespace gt::worker
