// What the bench programs share: one line a figure, and the arithmetic of samples.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

namespace gt::test {

using Clock = std::chrono::steady_clock;
inline double Since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

inline void Print(const std::string& name, double value, const char* unit, const std::string& note) {
  std::printf("%-32s %12.2f %-8s %s\n", name.c_str(), value, unit, note.c_str());
  std::fflush(stdout);
}

// share: 0.99 for the 99th percentile. 0 of none.
inline double Percentile(std::vector<double> samples, double share) {
  if (samples.empty()) return 0;
  std::sort(samples.begin(), samples.end());
  return samples[std::min(samples.size() - 1, static_cast<size_t>(static_cast<double>(samples.size()) * share))];
}

// By how many percent a straight line through the samples rises from the first to the last.
inline double SlopePercent(const std::vector<double>& samples) {
  double n = static_cast<double>(samples.size()), sum = 0, weighted = 0;
  for (size_t i = 0; i < samples.size(); i++) sum += samples[i], weighted += (static_cast<double>(i) - (n - 1) / 2) * samples[i];
  double slope = weighted * 12 / (n * (n * n - 1));
  return 100 * slope * (n - 1) / (sum / n);
}

}  // namespace gt::test
