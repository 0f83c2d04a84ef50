// Builds groups on threads of their own, so that the main thread never waits inside c10d, and lets dead ones go
// likewise.
#pragma once
#include <memory>

#include "worker/trainer/collective/form.h"
#include "worker/trainer/contract/control.h"

namespace gt::trainer {

// For the main thread. Control, environment and plug-in outlive every thread that it starts: the process leaves by
// _exit.
class GroupBuilder {
 public:
  GroupBuilder(Control* control, const Environment* env, CudaPlugin* cuda)
      : control_(control), env_(env), cuda_(cuda) {}

  // Waits until the group is built or overtaken (kUnavailable: a newer rendezvous or a stop is there to be looked at).
  // The group is the one that Control aborts from here on.
  Result<std::shared_ptr<Group>> Build(const Rendezvous& rendezvous);

  // Takes the last reference: aborts the group and drops it on a thread of its own.
  void Reap(std::shared_ptr<Group> group);

 private:
  Control* control_;
  const Environment* env_;
  CudaPlugin* cuda_;
};

}  // namespace gt::trainer
