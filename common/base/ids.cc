#include "common/base/ids.h"

#include <charconv>

namespace gt {

std::string ToHex(const Uid& uid) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text(32, '0');
  for (int i = 0; i < 16; ++i) {
    text[15 - i] = kDigits[(uid.high >> (4 * i)) & 15];
    text[31 - i] = kDigits[(uid.low >> (4 * i)) & 15];
  }
  return text;
}

namespace {
bool ParseAll(std::string_view text, int base, auto* value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value, base);
  return error == std::errc() && end == text.data() + text.size();
}
}  // namespace

std::optional<Uid> UidFromHex(std::string_view text) {
  Uid uid;
  if (text.size() != 32) return std::nullopt;
  if (!ParseAll(text.substr(0, 16), 16, &uid.high) || !ParseAll(text.substr(16), 16, &uid.low)) return std::nullopt;
  return uid;
}

std::string ToString(const TaskId& id, bool array) {
  std::string text = std::to_string(id.job.value);
  if (array) text += "_" + std::to_string(id.index);
  return text;
}

std::optional<TaskSelector> ParseTaskSelector(std::string_view text) {
  TaskSelector selector;
  size_t bar = text.find('_');
  if (!ParseAll(text.substr(0, bar), 10, &selector.job.value) || selector.job.value == 0) return std::nullopt;
  if (bar == std::string_view::npos) return selector;
  uint32_t index = 0;
  if (!ParseAll(text.substr(bar + 1), 10, &index)) return std::nullopt;
  selector.index = index;
  return selector;
}

}  // namespace gt
