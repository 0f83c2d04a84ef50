// The group of one rank alone: every collective is the identity.
#pragma once
#include "worker/trainer/collective/backend.h"
#include "worker/trainer/collective/work.h"

namespace gt::trainer {

class LocalBackend : public AbortableBackend {
 public:
  LocalBackend() : AbortableBackend(/*rank=*/0, /*size=*/1) {}
  const std::string getBackendName() const override { return "gt-local"; }
  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors, const c10d::AllreduceOptions&) override {
    return Done(c10d::OpType::ALLREDUCE, tensors);
  }
  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<at::Tensor>& tensors, const c10d::BroadcastOptions&) override {
    return Done(c10d::OpType::BROADCAST, tensors);
  }
  c10::intrusive_ptr<c10d::Work> allgather(std::vector<std::vector<at::Tensor>>& outputs,
                                           std::vector<at::Tensor>& inputs, const c10d::AllgatherOptions&) override {
    outputs.at(0).at(0).copy_(inputs.at(0));
    return Done(c10d::OpType::ALLGATHER, outputs[0]);
  }
  c10::intrusive_ptr<c10d::Work> barrier(const c10d::BarrierOptions&) override {
    return Done(c10d::OpType::BARRIER, {});
  }
  void Abort(const std::string&) override {}  // nothing here ever waits
  std::string InFlight() override { return "nothing"; }

 private:
  static c10::intrusive_ptr<c10d::Work> Done(c10d::OpType op, std::vector<at::Tensor> result) {
    return c10::make_intrusive<FinishedWork>(/*rank=*/0, op, std::move(result));
  }
};

}  // namespace gt::trainer
