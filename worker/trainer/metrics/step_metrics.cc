#include "worker/trainer/metrics/step_metrics.h"

#include <cstdio>

#include "worker/trainer/metrics/memory.h"

namespace gt::trainer {

void StepMetrics::Add(const StepMeasure& step) {
  if (restart_) steps_ = samples_ = step_us_ = data_us_ = communication_us_ = 0;
  restart_ = false;
  std::optional<double> norm = step.gradient_norm ? step.gradient_norm : last_.gradient_norm;
  last_ = step;
  last_.gradient_norm = norm;
  steps_ += 1;
  samples_ += step.samples;
  step_us_ += step.step_us;
  data_us_ += step.data_wait_us;
  communication_us_ += step.communication_wait_us;
  skipped_ += step.skipped;
}

std::map<std::string, double> StepMetrics::Read() const {
  ProcessMemory memory = ReadProcessMemory();
  std::map<std::string, double> values{{"loss", last_.loss},
                                       {"learning_rate", last_.learning_rate},
                                       {"data_wait", ShareOf(data_us_)},
                                       {"communication_wait", ShareOf(communication_us_)},
                                       {"skipped_steps", static_cast<double>(skipped_)},
                                       {"memory_bytes", static_cast<double>(memory.now_bytes)},
                                       {"memory_peak_bytes", static_cast<double>(memory.most_bytes)}};
  if (step_us_ > 0) {
    values["samples_per_second"] = static_cast<double>(samples_) * 1e6 / static_cast<double>(step_us_);
    values["step_ms"] = static_cast<double>(step_us_) / 1e3 / static_cast<double>(steps_);
  }
  if (last_.gradient_norm) values["gradient_norm"] = *last_.gradient_norm;
  if (last_.loss_scale) values["loss_scale"] = *last_.loss_scale;
  return values;
}

std::string StepMetrics::Note() const {
  char text[200];
  std::snprintf(text, sizeof text, "  lr %.3g  data wait %.1f %%  comm wait %.1f %%", last_.learning_rate,
                100 * ShareOf(data_us_), 100 * ShareOf(communication_us_));
  std::string note = text;
  auto add = [&](const char* name, double value) {
    std::snprintf(text, sizeof text, "  %s %.4g", name, value);
    note += text;
  };
  if (last_.gradient_norm) add("gradient norm", *last_.gradient_norm);
  if (last_.loss_scale) add("loss scale", *last_.loss_scale);
  if (skipped_ > 0) add("skipped", static_cast<double>(skipped_));
  return note;
}

}  // namespace gt::trainer
