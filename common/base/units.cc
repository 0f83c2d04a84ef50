#include "common/base/units.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <optional>
#include <vector>

namespace gt {
namespace {

struct Unit { std::string_view name; int64_t size; };
// From large to small: formatting takes the first that divides, chaining demands this order.
constexpr std::array<Unit, 5> kDurations = {{{"d", 24 * kHour}, {"h", kHour}, {"m", kMinute}, {"s", kSecond}, {"ms", 1}}};
constexpr std::array<Unit, 9> kSizes = {{{"TiB", 1ll << 40}, {"TB", 1000000000000}, {"GiB", 1ll << 30}, {"GB", 1000000000},
                                         {"MiB", 1ll << 20}, {"MB", 1000000}, {"KiB", 1ll << 10}, {"KB", 1000}, {"B", 1}}};

Status BadUnit(std::string_view text, const char* kind, const char* example) {
  return Status(Code::kInvalidArgument, "\"" + std::string(text) + "\" is not a " + kind + "; write for example " + example);
}

// Takes "<digits><unit>" from the front of `text`; the value in the smallest unit, or nullopt.
template <size_t N>
std::optional<int64_t> TakePart(std::string_view* text, const std::array<Unit, N>& units, int64_t* unit_size) {
  int64_t count = 0;
  auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), count);
  if (error != std::errc() || count < 0) return std::nullopt;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  size_t letters = 0;
  while (letters < text->size() && std::isalpha(static_cast<unsigned char>((*text)[letters]))) ++letters;
  for (const Unit& unit : units) {
    if (text->substr(0, letters) != unit.name) continue;
    text->remove_prefix(letters);
    *unit_size = unit.size;
    int64_t value = 0;
    if (__builtin_mul_overflow(count, unit.size, &value)) return std::nullopt;
    return value;
  }
  return std::nullopt;
}

std::string Human(int64_t value, const Unit& unit, int decimals) {
  char text[48];
  std::snprintf(text, sizeof text, "%.*f%s", decimals, static_cast<double>(value) / static_cast<double>(unit.size), unit.name.data());
  return text;
}

}  // namespace

Result<Millis> ParseDuration(std::string_view text) {
  if (text == "0") return Millis{0};
  std::string_view rest = text;
  int64_t total = 0, last_unit = kNever, unit = 0;
  while (!rest.empty()) {
    auto part = TakePart(&rest, kDurations, &unit);
    if (!part || unit >= last_unit || __builtin_add_overflow(total, *part, &total)) return BadUnit(text, "duration", "30s, 15m or 1h30m");
    last_unit = unit;
  }
  if (text.empty()) return BadUnit(text, "duration", "30s, 15m or 1h30m");
  return total;
}

Result<int64_t> ParseBytes(std::string_view text) {
  if (text == "0") return int64_t{0};
  std::string_view rest = text;
  int64_t unit = 0;
  auto part = TakePart(&rest, kSizes, &unit);
  if (!part || !rest.empty()) return BadUnit(text, "size", "512MiB, 2GiB or 40GB");
  return *part;
}

std::string FormatDuration(Millis duration) {
  if (duration <= 0) return "0s";
  std::string text;
  for (const Unit& unit : kDurations) {
    if (duration >= unit.size) text += std::to_string(duration / unit.size) + std::string(unit.name);
    duration %= unit.size;
  }
  return text;
}

std::string FormatBytes(int64_t bytes) {
  for (const Unit& unit : kSizes)
    if (bytes != 0 && bytes % unit.size == 0) return std::to_string(bytes / unit.size) + std::string(unit.name);
  return std::to_string(bytes) + "B";
}

std::string HumanDuration(Millis duration) {
  for (const Unit& unit : kDurations)
    if (duration >= unit.size) return Human(duration - duration % unit.size, unit, 0);
  return "0s";
}

std::string HumanBytes(int64_t bytes) {
  for (size_t i = 0; i < kSizes.size(); i += 2)
    if (bytes >= kSizes[i].size) return Human(bytes, kSizes[i], bytes % kSizes[i].size == 0 ? 0 : 1);
  return "0B";
}

int EditDistance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      int substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

}  // namespace gt
