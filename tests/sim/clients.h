// People's requests: each is repeated, with the same key, until it is answered.
#pragma once
#include <functional>

#include "tests/sim/coordinator.h"
#include "tests/sim/oracle.h"

namespace gt::sim {

class Clients {
 public:
  struct Parts {
    Timeline* timeline = nullptr;
    Network* network = nullptr;
    Oracle* oracle = nullptr;
    Coordinator* coordinator = nullptr;
    const Plan* plan = nullptr;
  };
  Clients(Parts parts, uint64_t seed) : parts_(parts), rng_(seed) {}

  void Start();  // everything that the plan asks for
  bool done() const { return open_ == 0; }

 private:
  using Done = std::function<bool(const Reply&)>;  // false: to be asked again
  void Ask(std::function<Command()> make, Done done);
  void Again(std::function<Command()> make, Done done);
  void Submit(size_t index);
  void Cancel(size_t index);
  void Drain(size_t node, bool drain, std::function<void()> then);

  const Parts parts_;
  Rng rng_;
  std::map<size_t, JobId> ids_;
  size_t open_ = 0;
};

}  // namespace gt::sim
