// Any bytes as a line that a rank says, and as the error file that it leaves: what the worker takes of it is bounded, is
// text, and takes no more of a report than the report was told that it would.
#include "common/base/assert.h"
#include "common/text/text.h"
#include "tests/fuzz/fuzz.h"
#include "worker/launcher/error_file.h"
#include "worker/runtime/convert.h"
#include "worker/runtime/launcher_convert.h"

namespace gt::worker {
namespace {

constexpr size_t kMaxText = 4096, kMaxMetrics = 64;

void CheckShort(const std::string& text) { GT_ASSERT(text.size() <= kMaxText && IsUtf8(text)); }

void CheckReport(const RankSaid& said) {
  NodeReport report;
  report.attempts.push_back({.uid = said.uid, .progress = said.progress, .checkpoint = said.checkpoint});
  gridtrain::v1::NodeReport wire, again;
  ToProto(report, &wire);
  GT_ASSERT(again.ParseFromString(wire.SerializeAsString()));
  GT_ASSERT(again.attempts(0).progress().metrics_size() == wire.attempts(0).progress().metrics_size());
  GT_ASSERT(wire.attempts(0).ByteSizeLong() <= WireSize(report.attempts[0]));
}

}  // namespace
}  // namespace gt::worker

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gt::worker;
  std::string_view line(reinterpret_cast<const char*>(data), size);
  CheckShort(gt::launcher::ErrorFileMessage(line));
  std::optional<RankSaid> said = ParseRankLine({1, 2}, line);
  if (!said) return 0;
  GT_ASSERT(said->progress.has_value() != said->checkpoint.has_value());
  if (said->progress) {
    CheckShort(said->progress->phase);
    GT_ASSERT(said->progress->metrics.size() <= kMaxMetrics);
    for (const auto& [name, value] : said->progress->metrics) CheckShort(name);
  }
  if (said->checkpoint) {
    CheckShort(said->checkpoint->path);
    GT_ASSERT(said->checkpoint->bytes >= 0);
  }
  CheckReport(*said);
  return 0;
}
