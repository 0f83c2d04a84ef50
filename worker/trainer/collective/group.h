// The ranks of one generation and the collectives between them.
#pragma once
#include <ATen/core/Tensor.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <string>
#include <vector>

#include "common/base/status.h"
#include "worker/trainer/collective/backend.h"
#include "worker/trainer/contract/messages.h"

namespace gt::trainer {

// Collectives are for the main thread and end with a Status; Abort and InFlight come from any thread. A tensor given to
// a collective belongs to this generation: never live state, never used again after a failure. Dropping a group may
// block (sockets, Gloo's threads): give the last reference to GroupBuilder::Reap.
class Group : public Abortable {
 public:
  Group(Rendezvous rendezvous, c10::intrusive_ptr<c10d::Store> store, c10::intrusive_ptr<AbortableBackend> backend);

  const Rendezvous& rendezvous() const { return rendezvous_; }
  Generation generation() const { return rendezvous_.generation; }
  int rank() const { return rendezvous_.rank; }
  int world_size() const { return rendezvous_.world_size; }
  std::string scheme() const { return backend_->getBackendName(); }
  const c10::intrusive_ptr<c10d::ProcessGroup>& process_group() const { return process_group_; }
  const c10::intrusive_ptr<AbortableBackend>& backend() const { return backend_; }

  Status AllReduceSum(at::Tensor tensor);
  Status Broadcast(at::Tensor tensor, int root);
  Result<std::vector<at::Tensor>> AllGather(const at::Tensor& tensor);

  void Abort(const std::string& why) override { backend_->Abort(why); }
  std::string InFlight() override { return backend_->InFlight(); }

 private:
  Rendezvous rendezvous_;
  c10::intrusive_ptr<c10d::Store> store_;
  c10::intrusive_ptr<AbortableBackend> backend_;
  c10::intrusive_ptr<c10d::ProcessGroup> process_group_;
};

// Runs `f`, which calls into LibTorch, and turns what it throws into a Status: kUnavailable for an aborted or broken
// collective, which a newer generation may repair; kInternal for anything else.
template <typename F>
Status CatchTorch(F f) {
  try {
    f();
    return OkStatus();
  } catch (const Aborted& e) {
    return Status(Code::kUnavailable, e.what());
  } catch (const c10::DistError& e) {
    return Status(Code::kUnavailable, e.what_without_backtrace());
  } catch (const c10::Error& e) {
    return Status(Code::kInternal, e.what_without_backtrace());
  } catch (const std::exception& e) {
    return Status(Code::kUnavailable, e.what());  // Gloo throws its own types, all of them I/O
  }
}

}  // namespace gt::trainer
