// Throughput, and when it is time to say something. No clock of its own: it is given milliseconds.
#pragma once
#include <cstdint>
#include <string>

#include "common/base/time.h"

namespace gt::trainer {

class Meter {
 public:
  // Samples per second over the steps since the last Restart.
  void Restart(Millis now) { since_ = now, samples_ = 0; }
  void Add(int64_t samples) { samples_ += samples; }
  double SamplesPerSecond(Millis now) const {
    return now > since_ ? static_cast<double>(samples_) * 1000.0 / static_cast<double>(now - since_) : 0;
  }

 private:
  Millis since_ = 0;
  int64_t samples_ = 0;
};

// True at most once per `every`.
class RateLimit {
 public:
  explicit RateLimit(Millis every) : every_(every) {}
  bool Due(Millis now) {
    if (now < next_) return false;
    next_ = now + every_;
    return true;
  }

 private:
  const Millis every_;
  Millis next_ = 0;
};

// "epoch 1/4  step 50/284  loss 0.4321  5312 samples/s  17.6 %"
struct StepLine {
  int64_t epoch = 0, epochs = 0;  // the first epoch is 1
  int64_t step = 0, total_steps = 0;
  double loss = 0, samples_per_second = 0;
};
std::string Format(const StepLine& line);
// "test accuracy 98.3 % (983/1000)"
std::string FormatAccuracy(int64_t correct, int64_t total);

Millis MonotonicNow();
int64_t MonotonicMicros();  // of the same clock

}  // namespace gt::trainer
