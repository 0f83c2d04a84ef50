// What one rank measures of its steps: gathered at each, read at times, by the log, the launcher and TensorBoard alike.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "common/base/time.h"

namespace gt::trainer {

// One step.
struct StepMeasure {
  double loss = 0, learning_rate = 0;
  int64_t samples = 0;                    // over all ranks
  int64_t step_us = 0;                    // from its begin to its commit
  int64_t data_wait_us = 0;               // of which: waited for data
  int64_t communication_wait_us = 0;      // of which: backward was done, the reduction was not
  std::optional<double> gradient_norm;    // after the reduction, before clipping; not measured at each step
  std::optional<double> loss_scale;       // fp16
  bool skipped = false;                   // it changed no weights
};

// For one thread.
class StepMetrics {
 public:
  void Add(const StepMeasure& step);
  // Names as the rank contract and TensorBoard show them: loss, learning_rate, samples_per_second, step_ms, data_wait and
  // communication_wait (shares of the step time), gradient_norm, loss_scale, skipped_steps (so far), memory_bytes,
  // memory_peak_bytes. Rates and shares are those since the last Restart.
  std::map<std::string, double> Read() const;
  // " lr 0.001  data wait 0.3 %  comm wait 4.1 %", and what else there is, for the end of a log line.
  std::string Note() const;
  // From the next step on; until then what was measured can still be read.
  void Restart() { restart_ = true; }

 private:
  double ShareOf(int64_t part_us) const {
    return step_us_ > 0 ? static_cast<double>(part_us) / static_cast<double>(step_us_) : 0;
  }
  StepMeasure last_;
  bool restart_ = false;
  int64_t steps_ = 0, samples_ = 0, step_us_ = 0, data_us_ = 0, communication_us_ = 0, skipped_ = 0;
};

}  // namespace gt::trainer
