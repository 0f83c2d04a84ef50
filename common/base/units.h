// Durations and sizes as people write them: "15m", "1h30m", "500ms", "40GiB", "512MB". Strict: no unit is an error, except 0.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/base/time.h"

namespace gt {

// Units ms, s, m, h, d; parts may be chained from large to small ("1h30m"). Errors say what would be right.
Result<Millis> ParseDuration(std::string_view text);
// Units B, KB, MB, GB, TB (powers of 1000) and KiB, MiB, GiB, TiB (powers of 1024).
Result<int64_t> ParseBytes(std::string_view text);

std::string FormatDuration(Millis duration);  // exact and parseable: "1h30m", "250ms", "0s"
std::string FormatBytes(int64_t bytes);       // exact and parseable: "2GiB", "1500B"
std::string HumanDuration(Millis duration);   // for tables: "4m", "2h", "3d"
std::string HumanBytes(int64_t bytes);        // for tables: "1.5GiB"

// The candidate nearest to `word` by edit distance, empty when none is near enough to be worth naming.
template <typename Range>
std::string Nearest(std::string_view word, const Range& candidates);
int EditDistance(std::string_view a, std::string_view b);

template <typename Range>
std::string Nearest(std::string_view word, const Range& candidates) {
  std::string best;
  int limit = static_cast<int>(word.size()) / 3 + 1, best_distance = limit + 1;
  for (const auto& candidate : candidates) {
    int d = EditDistance(word, candidate);
    if (d < best_distance) best_distance = d, best = std::string(candidate);
  }
  return best;
}

}  // namespace gt
