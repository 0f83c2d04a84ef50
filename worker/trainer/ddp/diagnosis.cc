#include "worker/trainer/ddp/diagnosis.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "common/base/units.h"

namespace gt::trainer {
namespace {

std::string Number(double value) {
  if (std::isnan(value)) return "nan";  // of whichever sign
  char text[40];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

// How LibTorch's allocators and the standard library say it.
constexpr std::array<const char*, 4> kMemoryWords = {"can't allocate memory", "not enough memory", "out of memory",
                                                     "std::bad_alloc"};

bool SpeaksOfMemory(const std::string& message) {
  return std::any_of(kMemoryWords.begin(), kMemoryWords.end(),
                     [&](const char* words) { return message.find(words) != std::string::npos; });
}

std::string Mebibytes(int64_t bytes) { return FormatBytes(bytes >> 20 << 20); }

std::string AdviceOnNumbers(const Spec& spec) {
  std::string advice = "; try a lower optimizer.lr";
  if (spec.optimizer.schedule.warmup_samples == 0) advice += ", optimizer.schedule.warmup_samples";
  if (spec.optimizer.clip_norm == 0) advice += ", optimizer.clip_norm: 1";
  if (spec.precision == "fp16") advice += ", precision: bf16 (fp16 ends at 65504)";
  if (spec.on_nan == "stop") advice += ", or on_nan: skip where single samples may be bad";
  return advice;
}

}  // namespace

Status ExplainBadNumbers(const Spec& spec, const BadNumbers& seen) {
  bool loss_is_bad = !std::isfinite(seen.loss);
  std::string message = std::string(loss_is_bad ? "the loss is" : "a gradient is") +
                        " not a finite number at step " + std::to_string(seen.step) + " (loss " + Number(seen.loss);
  if (seen.step > 1 && std::isfinite(seen.last_loss)) message += ", before it " + Number(seen.last_loss);
  if (seen.gradient_norm) message += ", gradient norm " + Number(*seen.gradient_norm);
  message += ", lr " + Number(seen.learning_rate) + ")";
  if (seen.skipped_in_a_row > 0)
    message += ", after " + std::to_string(seen.skipped_in_a_row) + " steps in a row that were skipped";
  return Status(Code::kInternal, message + AdviceOnNumbers(spec));
}

Status ExplainFailure(const Spec& spec, int64_t step, const ProcessMemory& memory, const Status& status) {
  if (status.ok() || !SpeaksOfMemory(status.message())) return status;
  int64_t smaller = std::max<int64_t>(spec.batch_size / 2, 1);
  std::string advice = "; try";
  if (spec.batch_size > 1) {
    advice += " batch_size: " + std::to_string(smaller);
    if (spec.global_batch_size == 0)
      advice += " with accumulate: " + std::to_string(spec.accumulate * 2) + " (the same step in smaller parts)";
    advice += ",";
  }
  bool blocks = spec.model.name == "gpt" || spec.model.name == "resnet18";
  if (blocks && !spec.model.activation_checkpointing) advice += " activation_checkpointing: true,";
  if (spec.precision == "fp32" || spec.precision == "tf32") advice += " precision: bf16,";
  advice += " or a larger memory_per_node";
  return Status(Code::kResourceExhausted, "out of memory in step " + std::to_string(step) + ": " + status.message() +
                                              "; this process holds " + Mebibytes(memory.now_bytes) + ", at most " +
                                              Mebibytes(memory.most_bytes) + ", with batches of " +
                                              std::to_string(spec.batch_size) + advice);
}

}  // namespace gt::trainer
