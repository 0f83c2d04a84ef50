// The coordinator's one thread that owns the state. Others hand it commands and questions through bounded queues; it wakes
// for those or for the next deadline, reads the clock once and runs one turn of LoopBody.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "coordinator/heard.h"
#include "coordinator/loop_body.h"

namespace gt {

// What a question sees. `committed` is false while a batch waits for space: then memory is ahead of the disk.
struct LoopView {
  const ClusterState& state;
  const Policy& policy;
  Now now;
  bool committed = true;
  std::string held_reason;  // why nothing is decided now; empty: it is
};

struct LoopOptions {
  std::function<Now()> clock;
  size_t max_commands = 16'384;  // from clients; beyond it they are refused at once
  size_t max_queries = 4'096;
  size_t batch_submits = 1'000;
  size_t batch_items = 4'096;
  Millis retry_every = kSecond;     // of a commit that found no space
  Millis gather_every = 250;        // heard stamps, unless something falls due earlier
};

class Loop {
 public:
  Loop(std::unique_ptr<LoopBody> body, LoopOptions options) : body_(std::move(body)), options_(std::move(options)) {}
  ~Loop() { Stop(); }

  void Start();
  // Ends after the turn under way; what is still queued is answered with kUnavailable. Idempotent.
  void Stop();

  // Any thread. kResourceExhausted when the queue is full or the disk is; then `done` is not called.
  Status Push(LoopItem item);
  // Any thread: what workers report. Never refused: the protocol lets each session have one report in flight, and the edge
  // keeps to it. Waits where it is while the disk is full.
  void PushFromWorker(LoopItem item);
  // Any thread. `question` runs on the loop between turns, must not block, and is always called: with nullptr when the loop
  // is stopping. kResourceExhausted when too many wait; then it is not called.
  Status Query(std::function<void(const LoopView*)> question);
  // The same, waiting for the answer at most `timeout`: kUnavailable after it (then `question` may still run later: it
  // must own what it touches). Never from the loop's own thread.
  Status QueryAndWait(std::function<void(const LoopView&)> question, Millis timeout = 5 * kSecond);

  HeardBoard& heard() { return heard_; }
  const Policy& policy() const { return body_->policy(); }  // never changes

 private:
  struct Taken {
    std::vector<LoopItem> items;
    std::vector<std::function<void(const LoopView*)>> queries;
  };
  void Run();
  void Sleep(std::unique_lock<std::mutex>* lock);
  Taken Take();  // under the lock
  void Work(Taken taken);
  void WorkHeld(Taken* taken, Now now);
  void Wake(std::unique_lock<std::mutex> lock);

  std::unique_ptr<LoopBody> body_;
  const LoopOptions options_;
  HeardBoard heard_;
  Millis next_gather_ = 0, next_retry_ = 0;  // the loop's own

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<LoopItem> clients_, workers_;
  std::vector<std::function<void(const LoopView*)>> queries_;
  size_t client_commands_ = 0;
  bool sleeping_ = false, stopping_ = false, held_ = false;
  std::string held_reason_;
  std::thread thread_;
};

}  // namespace gt
