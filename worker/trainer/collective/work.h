// The works of our backends.
#pragma once
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <atomic>
#include <chrono>
#include <vector>

namespace gt::trainer {

// Ends once: by Complete from the library's callback or by Fail from any thread, whichever comes first.
class AbortableWork : public c10d::Work {
 public:
  AbortableWork(int rank, c10d::OpType op, uint64_t sequence, int64_t numel);
  void Complete(const c10::IValue& value);
  void Fail(const std::exception_ptr& error);
  bool done() const { return done_; }
  std::string Describe() const;  // "seq 12 ALLREDUCE numel 421642 for 30 ms"

  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }
  uint64_t getSequencenumber() const override { return sequence_; }
  std::vector<at::Tensor> result() override;

 private:
  const uint64_t sequence_;
  const int64_t numel_;
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::atomic<bool> done_{false};
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

// A work that was over before it was handed out.
class FinishedWork : public c10d::Work {
 public:
  FinishedWork(int rank, c10d::OpType op, std::vector<at::Tensor> result);
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }
  std::vector<at::Tensor> result() override;

 private:
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

}  // namespace gt::trainer
