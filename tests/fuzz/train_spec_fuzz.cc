// Any bytes as SPEC.json: refused with a reason, or values that the trainer can work with.
#include <cmath>

#include "common/base/assert.h"
#include "tests/fuzz/fuzz.h"
#include "worker/trainer/spec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gt::Result<gt::trainer::Spec> spec = gt::trainer::ParseSpec({reinterpret_cast<const char*>(data), size});
  if (!spec.ok()) {
    GT_ASSERT(spec.status().code() == gt::Code::kInvalidArgument && !spec.status().message().empty());
    return 0;
  }
  GT_ASSERT(spec->batch_size >= 1 && spec->epochs >= 1 && spec->accumulate >= 1 && spec->log_every >= 1);
  GT_ASSERT(spec->model.hidden >= 1 && spec->data.samples >= 1 && spec->max_steps >= 0);
  GT_ASSERT(spec->checkpoint.every >= 0 && spec->checkpoint.keep >= 1);
  GT_ASSERT(spec->model.heads >= 1 && spec->model.vocabulary >= 2 && spec->model.dropout < 1);
  GT_ASSERT(spec->global_batch_size == 0 || spec->accumulate == 1);
  for (double value : {spec->optimizer.learning_rate, spec->optimizer.momentum, spec->optimizer.weight_decay})
    GT_ASSERT(std::isfinite(value) && value >= 0);
  return 0;
}
