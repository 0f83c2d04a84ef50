// Any bytes as the values that people type, a line each: what is read prints as a text that reads the same. And as text for
// a terminal: made safe once it is safe, and cut where it may be cut.
#include "common/base/assert.h"
#include "common/base/ids.h"
#include "common/base/units.h"
#include "common/os/net.h"
#include "common/text/text.h"
#include "tests/fuzz/fuzz.h"

namespace gt {
namespace {

void CheckValues(std::string_view text) {
  if (Result<Millis> duration = ParseDuration(text); duration.ok()) {
    Result<Millis> again = ParseDuration(FormatDuration(*duration));
    GT_ASSERT(again.ok() && *again == *duration);
    GT_ASSERT(!HumanDuration(*duration).empty());
  }
  if (Result<int64_t> bytes = ParseBytes(text); bytes.ok()) {
    Result<int64_t> again = ParseBytes(FormatBytes(*bytes));
    GT_ASSERT(again.ok() && *again == *bytes);
    GT_ASSERT(!HumanBytes(*bytes).empty());
  }
  if (std::optional<TaskSelector> task = ParseTaskSelector(text)) {
    TaskId id{task->job, task->index.value_or(0)};
    std::optional<TaskSelector> again = ParseTaskSelector(ToString(id, task->index.has_value()));
    GT_ASSERT(again && again->job == task->job && again->index == task->index);
  }
  if (std::optional<Uid> uid = UidFromHex(text)) GT_ASSERT(UidFromHex(ToHex(*uid)) == *uid);
  if (Result<HostPort> where = ParseHostPort(std::string(text)); where.ok()) {
    Result<HostPort> again = ParseHostPort(FormatHostPort(where->host, where->port));
    GT_ASSERT(again.ok() && again->host == where->host && again->port == where->port);
  }
}

void CheckText(std::string_view text) {
  std::string safe = Printable(text);
  GT_ASSERT(IsUtf8(safe) && IsPrintable(safe) && Printable(safe) == safe);
  GT_ASSERT(IsPrintable(text) == (safe == text));
  GT_ASSERT(safe.find_first_of("\n\r\x1b\x7f") == std::string::npos);
  size_t width = DisplayWidth(text);
  GT_ASSERT(width <= 2 * text.size());
  for (size_t columns : {size_t{0}, size_t{1}, width / 2, width}) {
    std::string_view front = FitColumns(text, columns);
    GT_ASSERT(text.starts_with(front) && DisplayWidth(front) <= columns);
    GT_ASSERT(!IsUtf8(text) || IsUtf8(front));
  }
  GT_ASSERT(FitColumns(text, width) == text);
}

}  // namespace
}  // namespace gt

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  gt::CheckText(text);
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    gt::CheckValues(gt::fuzz::Exact(line).view());
  }
  return 0;
}
