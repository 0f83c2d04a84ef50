#include "worker/trainer/collective/group.h"

#include <ATen/ATen.h>

namespace gt::trainer {

Group::Group(Rendezvous rendezvous, c10::intrusive_ptr<c10d::Store> store, c10::intrusive_ptr<AbortableBackend> backend)
    : rendezvous_(std::move(rendezvous)), store_(std::move(store)), backend_(std::move(backend)) {
  using Type = c10d::ProcessGroup::BackendType;
  process_group_ = c10::make_intrusive<c10d::ProcessGroup>(store_, rank(), world_size());
  process_group_->setDefaultBackend(Type::CUSTOM);
  process_group_->setBackend(c10::DeviceType::CPU, Type::CUSTOM, backend_);
  process_group_->setBackend(c10::DeviceType::CUDA, Type::CUSTOM, backend_);
}

Status Group::AllReduceSum(at::Tensor tensor) {
  return CatchTorch([&] {
    std::vector<at::Tensor> tensors{std::move(tensor)};
    backend_->allreduce(tensors, c10d::AllreduceOptions())->wait();
  });
}

Status Group::Broadcast(at::Tensor tensor, int root) {
  return CatchTorch([&] {
    std::vector<at::Tensor> tensors{std::move(tensor)};
    c10d::BroadcastOptions options;
    options.rootRank = root;
    backend_->broadcast(tensors, options)->wait();
  });
}

Result<std::vector<at::Tensor>> Group::AllGather(const at::Tensor& tensor) {
  std::vector<std::vector<at::Tensor>> outputs(1);
  for (int i = 0; i < world_size(); ++i) outputs[0].push_back(at::empty_like(tensor));
  GT_RETURN_IF_ERROR(CatchTorch([&] {
    std::vector<at::Tensor> inputs{tensor};
    backend_->allgather(outputs, inputs, c10d::AllgatherOptions())->wait();
  }));
  return outputs[0];
}

}  // namespace gt::trainer
