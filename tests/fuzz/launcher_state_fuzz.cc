// Any State that a launcher may send, as the worker reports it: whatever it holds, its exit record is trimmed to the limit
// without losing a rank, and takes no more of a report than the report was told that it would. Input: the limit, then frames.
#include "common/base/assert.h"
#include "tests/fuzz/fuzz.h"
#include "worker/launcher/protocol.h"
#include "worker/runtime/convert.h"
#include "worker/runtime/launcher_convert.h"

namespace gt::worker {
namespace {

// Without tails and messages: what no trimming takes away.
size_t Least(const ExitRecord& exit) {
  ExitRecord bare = exit;
  bare.message.clear();
  for (RankExit& rank : bare.ranks) rank.tail.clear(), rank.message.clear();
  return WireSize(AttemptReport{.exit = bare});
}

void CheckTrimmed(const ExitRecord& whole, size_t limit) {
  constexpr size_t kMaxMessage = 16384, kOfReport = 96;
  ExitRecord trimmed = whole;
  TrimExit(&trimmed, limit);
  GT_ASSERT(trimmed.ranks.size() == whole.ranks.size() && trimmed.message.size() <= kMaxMessage);
  GT_ASSERT(WireSize(AttemptReport{.exit = trimmed}) <= std::max(limit, Least(whole) + trimmed.message.size()) + kOfReport);
  for (size_t i = 0; i < whole.ranks.size(); ++i) {
    const RankExit &left = trimmed.ranks[i], &had = whole.ranks[i];
    GT_ASSERT(left.code == had.code && left.signal == had.signal && left.stdout_bytes == had.stdout_bytes);
    GT_ASSERT(had.tail.ends_with(left.tail) && had.message.starts_with(left.message));
  }
}

void CheckReport(const LauncherState& state) {
  NodeReport report;
  report.attempts.push_back({.uid = state.uid, .generation = state.generation, .phase = state.phase,
                             .endpoint = state.endpoint, .exit = state.exit, .unknown = state.unknown});
  gridtrain::v1::NodeReport wire, again;
  ToProto(report, &wire);
  GT_ASSERT(again.ParseFromString(wire.SerializeAsString()));
  GT_ASSERT(wire.attempts(0).ByteSizeLong() <= WireSize(report.attempts[0]));
}

}  // namespace
}  // namespace gt::worker

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gt;
  fuzz::Input input(data, size);
  size_t limit = input.Take<uint16_t>() * size_t{4};
  launcher::FrameParser parser;
  parser.Append(input.rest());
  while (true) {
    Result<std::optional<launcher::Message>> next = parser.Next();
    if (!next.ok() || !next->has_value()) return 0;
    auto* state = std::get_if<launcher::State>(&**next);
    if (state == nullptr) continue;
    bool ended = state->phase == launcher::Phase::kEnded;
    worker::LauncherState told = worker::FromLauncher(std::move(*state), "127.0.0.1");
    GT_ASSERT(told.exit.has_value() == ended);
    worker::CheckReport(told);
    if (told.exit) worker::CheckTrimmed(*told.exit, limit);
  }
}
