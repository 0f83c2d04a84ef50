#include "worker/trainer/metrics/meter.h"

#include <chrono>
#include <cstdio>

namespace gt::trainer {

std::string Format(const StepLine& line) {
  double percent =
      line.total_steps > 0 ? 100.0 * static_cast<double>(line.step) / static_cast<double>(line.total_steps) : 100.0;
  char text[200];
  std::snprintf(text, sizeof text, "epoch %lld/%lld  step %lld/%lld  loss %.4f  %.0f samples/s  %.1f %%",
                static_cast<long long>(line.epoch), static_cast<long long>(line.epochs),
                static_cast<long long>(line.step), static_cast<long long>(line.total_steps), line.loss,
                line.samples_per_second, percent);
  return text;
}

std::string FormatAccuracy(int64_t correct, int64_t total) {
  double percent = total > 0 ? 100.0 * static_cast<double>(correct) / static_cast<double>(total) : 0;
  char text[100];
  std::snprintf(text, sizeof text, "test accuracy %.1f %% (%lld/%lld)", percent, static_cast<long long>(correct),
                static_cast<long long>(total));
  return text;
}

Millis MonotonicNow() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int64_t MonotonicMicros() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace gt::trainer
