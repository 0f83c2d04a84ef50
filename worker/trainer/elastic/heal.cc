#include "worker/trainer/elastic/heal.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace gt::trainer {
namespace {

// Counters as they travel.
at::Tensor Pack(const Counters& c) {
  return at::tensor({c.step, c.cursor.epoch, c.cursor.offset, c.samples, c.evaluated_epochs}, at::kLong);
}
Counters Unpack(const at::Tensor& t) {
  const int64_t* v = t.const_data_ptr<int64_t>();
  return {.step = v[0], .cursor = {v[1], v[2]}, .samples = v[3], .evaluated_epochs = v[4]};
}

// Every tensor of the source's state, in temporaries.
Result<std::vector<at::Tensor>> Receive(Group& group, const std::vector<NamedTensor>& live, int source) {
  std::vector<at::Tensor> arrived;
  for (const NamedTensor& part : live) {
    // The source too sends a copy: what a collective was given is never used again.
    arrived.push_back(group.rank() == source ? part.tensor.detach().clone() : at::empty_like(part.tensor));
    GT_RETURN_IF_ERROR(group.Broadcast(arrived.back(), source));
  }
  return arrived;
}

}  // namespace

Status Heal(Group& group, TrainState& state) {
  at::NoGradGuard no_grad;
  GT_ASSIGN_OR_RETURN(std::vector<at::Tensor> all, group.AllGather(Pack(state.counters)));
  Counters best = Unpack(all[0]);
  int source = 0;
  bool equal = true;
  for (int rank = 1; rank < group.world_size(); ++rank) {
    Counters theirs = Unpack(all[static_cast<size_t>(rank)]);
    equal = equal && theirs.step == best.step;
    if (theirs.step > best.step) best = theirs, source = rank;
  }
  if (best.step < 0) return Status(Code::kNotFound, "no rank could read the checkpoint to resume from");
  // An evaluation that only some have seen the end of is done again.
  for (const at::Tensor& packed : all) {
    Counters theirs = Unpack(packed);
    if (theirs.step == best.step) best.evaluated_epochs = std::min(best.evaluated_epochs, theirs.evaluated_epochs);
  }
  if (equal && best.step > 0) {  // at step 0 everybody takes the initial values of one rank
    state.counters.evaluated_epochs = best.evaluated_epochs;
    return OkStatus();
  }

  std::vector<NamedTensor> live = state.All();
  GT_ASSIGN_OR_RETURN(std::vector<at::Tensor> arrived, Receive(group, live, source));
  GT_RETURN_IF_ERROR(group.AllGather(Pack(best)).status());  // the closing word: all have everything
  if (state.counters.step != best.step || best.step == 0)
    for (size_t i = 0; i < live.size(); ++i) live[i].tensor.detach().copy_(arrived[i]);
  state.counters = best;
  return OkStatus();
}

}  // namespace gt::trainer
