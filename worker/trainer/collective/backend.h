// A c10d backend whose collectives can be failed from any thread at once: the seam between the trainer and whatever
// moves the bytes (Gloo, shared memory of one host, NCCL). A new scheme is one more class behind it and one line in
// form.cc.
#pragma once
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <stdexcept>
#include <string>

#include "worker/trainer/contract/control.h"

namespace gt::trainer {

// Thrown out of a collective that was aborted. c10d's interface answers by exceptions; Group turns them into Status.
struct Aborted : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class AbortableBackend : public c10d::Backend, public Abortable {
 public:
  using c10d::Backend::Backend;
};

}  // namespace gt::trainer
