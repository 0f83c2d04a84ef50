// A server stream that is pulled: the next message is made only when the one before has left, on a thread that may wait for
// the disk. So a slow reader costs one message of memory and nobody's time.
#pragma once
#include <grpcpp/grpcpp.h>

#include <memory>
#include <mutex>

#include "coordinator/service/edge.h"

namespace gt {

enum class Pumped { kMessage, kNothingYet, kEnd };

// Lives by shared_ptr: its own until the call is over, and those of whoever may poke it.
template <typename Message>
class PumpStream : public grpc::ServerWriteReactor<Message>, public std::enable_shared_from_this<PumpStream<Message>> {
 public:
  // Any thread, also after the end: there may be something new.
  void Poke() {
    std::lock_guard lock(mutex_);
    poked_ = true;
    if (state_ == State::kIdle) StartPump();
  }

 protected:
  explicit PumpStream(WorkPool* pool) : pool_(pool) {}
  // On a thread of the pool, never twice at the same time. Fills the message in, or says that there is none yet (a Poke asks
  // again) or ever; a status that is not ok ends the stream with it.
  virtual Result<Pumped> Next(Message* message) = 0;

  // Hands the stream to gRPC; it asks Next at once.
  static grpc::ServerWriteReactor<Message>* Start(std::shared_ptr<PumpStream> stream) {
    stream->self_ = stream;
    stream->Poke();
    return stream.get();
  }

 private:
  enum class State { kIdle, kPumping, kWriting, kDone };

  void StartPump() {  // under the lock
    state_ = State::kPumping;
    Status status = pool_->Run([self = this->shared_from_this()] { self->Pump(); });
    if (!status.ok()) End(status);
  }
  void End(const Status& status) {  // under the lock
    state_ = State::kDone;
    this->Finish(ToGrpc(status));
  }
  void Pump() {
    while (true) {
      {
        std::lock_guard lock(mutex_);
        if (cancelled_) return End({Code::kUnavailable, "the caller is gone"});
        poked_ = false;
      }
      message_.Clear();
      Result<Pumped> next = Next(&message_);
      std::lock_guard lock(mutex_);
      if (!next.ok()) return End(next.status());
      if (*next == Pumped::kEnd) return End(OkStatus());
      if (*next == Pumped::kMessage) {
        state_ = State::kWriting;
        return this->StartWrite(&message_);
      }
      if (poked_ || cancelled_) continue;
      state_ = State::kIdle;
      return;
    }
  }
  void OnWriteDone(bool ok) override {
    std::lock_guard lock(mutex_);
    if (!ok || cancelled_) return End({Code::kUnavailable, "the caller is gone"});
    StartPump();
  }
  void OnCancel() override {
    std::lock_guard lock(mutex_);
    cancelled_ = true;
    if (state_ == State::kIdle) End({Code::kUnavailable, "the caller is gone"});
  }
  void OnDone() override {
    std::shared_ptr<PumpStream> last = std::move(self_);
  }

  WorkPool* const pool_;
  std::mutex mutex_;
  State state_ = State::kIdle;
  bool poked_ = false, cancelled_ = false;
  Message message_;
  std::shared_ptr<PumpStream> self_;
};

}  // namespace gt
