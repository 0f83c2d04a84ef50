#include "worker/trainer/collective/gloo_backend.h"

#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

namespace gt::trainer {
namespace {

// A backstop far above any hang deadline of the orchestrator: a newer rendezvous is what ends a stuck collective.
constexpr std::chrono::minutes kGlooTimeout{30};
constexpr int kGlooThreads = 2;

}  // namespace

GlooBackend::GlooBackend(const c10::intrusive_ptr<c10d::Store>& store, int rank, int world_size,
                         const std::string& address)
    : AbortableBackend(rank, world_size) {
  auto options = c10d::ProcessGroupGloo::Options::create();
  options->timeout = kGlooTimeout;
  options->threads = kGlooThreads;
  options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(address, /*lazyInit=*/false));
  gloo_ = c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, world_size, options);
}

GlooBackend::~GlooBackend() = default;

template <typename Start>
c10::intrusive_ptr<c10d::Work> GlooBackend::Run(c10d::OpType op, int64_t numel, Start start) {
  c10::intrusive_ptr<AbortableWork> work;
  {
    std::lock_guard lock(mutex_);
    if (aborted_) throw Aborted(why_);
    work = c10::make_intrusive<AbortableWork>(rank_, op, ++sequence_, numel);
    live_.remove_if([](const auto& old) { return old->done(); });
    live_.push_back(work);
  }
  c10::intrusive_ptr<c10d::Work> inner;
  try {
    inner = start();
  } catch (...) {
    work->Fail(std::current_exception());
    throw;
  }
  // The callback holds `inner`, so that an aborted work leaves its buffers to Gloo until Gloo is done with them.
  inner->getFuture()->addCallback([work, inner](c10::ivalue::Future& future) {
    if (future.hasError()) work->Fail(future.exception_ptr());
    else work->Complete(future.value());
  });
  return work;
}

c10::intrusive_ptr<c10d::Work> GlooBackend::allreduce(std::vector<at::Tensor>& tensors,
                                                      const c10d::AllreduceOptions& options) {
  return Run(c10d::OpType::ALLREDUCE, tensors.at(0).numel(), [&] { return gloo_->allreduce(tensors, options); });
}

c10::intrusive_ptr<c10d::Work> GlooBackend::broadcast(std::vector<at::Tensor>& tensors,
                                                      const c10d::BroadcastOptions& options) {
  return Run(c10d::OpType::BROADCAST, tensors.at(0).numel(), [&] { return gloo_->broadcast(tensors, options); });
}

c10::intrusive_ptr<c10d::Work> GlooBackend::allgather(std::vector<std::vector<at::Tensor>>& outputs,
                                                      std::vector<at::Tensor>& inputs,
                                                      const c10d::AllgatherOptions& options) {
  return Run(c10d::OpType::ALLGATHER, inputs.at(0).numel(), [&] { return gloo_->allgather(outputs, inputs, options); });
}

c10::intrusive_ptr<c10d::Work> GlooBackend::barrier(const c10d::BarrierOptions& options) {
  return Run(c10d::OpType::BARRIER, 0, [&] { return gloo_->barrier(options); });
}

void GlooBackend::Abort(const std::string& why) {
  std::list<c10::intrusive_ptr<AbortableWork>> live;
  {
    std::lock_guard lock(mutex_);
    if (!aborted_) why_ = why;
    aborted_ = true;
    live.swap(live_);
  }
  auto error = std::make_exception_ptr(Aborted(why));
  for (const auto& work : live) work->Fail(error);
}

std::string GlooBackend::InFlight() {
  std::lock_guard lock(mutex_);
  std::string text;
  for (const auto& work : live_)
    if (!work->done()) text += (text.empty() ? "" : "; ") + work->Describe();
  return text.empty() ? "nothing" : text;
}

}  // namespace gt::trainer
