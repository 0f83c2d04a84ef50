#include "worker/runtime/launcher_convert.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/base/cut_text.h"

namespace gt::worker {
namespace {

constexpr size_t kMaxMetrics = 64;
constexpr size_t kMaxText = 4096;

launcher::StopWhy StopWhyOf(Cause cause) {
  switch (cause) {
    case Cause::kNone: return launcher::StopWhy::kStale;
    case Cause::kCancelled: return launcher::StopWhy::kCancel;
    case Cause::kPreempted:
    case Cause::kSpotReclaimed: return launcher::StopWhy::kPreempt;
    case Cause::kTimeLimit: return launcher::StopWhy::kTimeLimit;
    default: return launcher::StopWhy::kFail;
  }
}

AttemptPhase PhaseOf(launcher::Phase phase) {
  switch (phase) {
    case launcher::Phase::kUnknown:
    case launcher::Phase::kStarting:
    case launcher::Phase::kPrepared: return AttemptPhase::kStarting;
    case launcher::Phase::kRunning: return AttemptPhase::kRunning;
    case launcher::Phase::kStopping: return AttemptPhase::kStopping;
    case launcher::Phase::kEnded: return AttemptPhase::kEnded;
  }
  return AttemptPhase::kStarting;
}

ExitWhy WhyOf(launcher::EndWhy why) {
  switch (why) {
    case launcher::EndWhy::kCompleted: return ExitWhy::kFinished;
    case launcher::EndWhy::kRankFailed: return ExitWhy::kRankFailed;
    case launcher::EndWhy::kStopped: return ExitWhy::kStopped;
    case launcher::EndWhy::kTimeLimit: return ExitWhy::kTimeLimit;
    case launcher::EndWhy::kStopAfter: return ExitWhy::kDisconnected;
    case launcher::EndWhy::kLaunchFailed: return ExitWhy::kLaunchFailed;
    case launcher::EndWhy::kLauncherLost: return ExitWhy::kUnknown;
    case launcher::EndWhy::kNodeRebooted: return ExitWhy::kNodeRebooted;
  }
  return ExitWhy::kUnknown;
}

// Sizes that the launcher does not know any more (-1) are told as 0: a reader then has what it has.
uint64_t SizeOf(int64_t bytes) { return bytes > 0 ? static_cast<uint64_t>(bytes) : 0; }

RankExit FromLauncher(launcher::RankExit&& rank) {
  return {.rank = rank.rank,
          .code = rank.code,
          .signal = rank.signal,
          .core_dumped = rank.core,
          .started_ms = rank.started,
          .ended_ms = rank.ended,
          .stdout_bytes = SizeOf(rank.stdout_bytes),
          .stderr_bytes = SizeOf(rank.stderr_bytes),
          .lost_bytes = SizeOf(rank.lost_bytes),
          .tail = std::move(rank.tail),
          .message = std::move(rank.message)};
}

Formation FromLauncher(launcher::Formation&& formation) {
  Formation out{.joined = formation.joined,
                .survives = formation.survives,
                .store = {std::move(formation.store_addr), formation.store_port},
                .step = formation.step,
                .redone_samples = formation.redone_samples};
  for (launcher::RankDown& down : formation.down) out.down.push_back({down.born, FromLauncher(std::move(down.exit))});
  return out;
}

ExitRecord FromLauncher(launcher::ExitRecord&& record) {
  ExitRecord exit;
  exit.why = WhyOf(record.why);
  exit.message = std::move(record.message);
  if (record.first_failed != launcher::kNoRank) exit.first_failed = record.first_failed;
  exit.failed_at_ms = record.first_failure;
  exit.out_of_memory = record.oom;
  exit.ended_ms = record.ended;
  for (launcher::RankExit& rank : record.ranks) exit.ranks.push_back(FromLauncher(std::move(rank)));
  // The launcher measures the node's ranks together; the wire has a place for it in each rank.
  if (!exit.ranks.empty()) exit.ranks[0].peak_memory = record.peak_memory;
  return exit;
}

uint64_t Number(const nlohmann::json& object, const char* key) {
  auto found = object.find(key);
  if (found == object.end()) return 0;
  if (found->is_number_unsigned()) return found->get<uint64_t>();
  return 0;
}

std::string Text(const nlohmann::json& object, const char* key) {
  auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return {};
  return std::string(CutText(found->get_ref<const std::string&>(), kMaxText));
}

Progress ProgressOf(const nlohmann::json& object) {
  Progress progress{.step = Number(object, "step"),
                    .total_steps = Number(object, "total_steps"),
                    .samples = Number(object, "samples"),
                    .phase = Text(object, "phase")};
  auto metrics = object.find("metrics");
  if (metrics == object.end() || !metrics->is_object()) return progress;
  for (const auto& [name, value] : metrics->items()) {
    if (progress.metrics.size() == kMaxMetrics) break;
    if (value.is_number()) progress.metrics.emplace_back(CutText(name, kMaxText), value.get<double>());
  }
  return progress;
}

}  // namespace

launcher::Start ToLauncher(const LauncherStart& start) {
  launcher::Start out;
  out.uid = start.uid;
  out.job_id = start.job_id;
  out.task_index = start.task_index;
  out.array = start.array;
  out.attempt_no = start.number;
  out.generation = start.generation;
  out.first_rank = start.first_rank;
  out.world_size = start.world_size;
  out.group_rank = start.group_rank;
  out.group_world_size = start.group_world_size;
  for (const std::vector<std::string>& gpus : start.rank_gpus) out.ranks.push_back(launcher::RankSpec{gpus});
  out.argv = start.argv;
  out.env = start.env;
  out.workdir = start.workdir;
  out.spec_json = start.spec_json;
  out.contract = start.contract;
  out.local_endpoint = start.local_endpoint;
  out.hold_port = start.hold_port;
  out.node_address = start.node_address;
  out.memory_limit = start.memory_limit;
  out.time_limit = start.time_limit;
  out.grace = start.grace;
  out.fail_grace = start.fail_grace;
  out.stop_after = start.stop_after;
  out.reform_timeout = start.reform_timeout;
  return out;
}

launcher::Stop ToLauncher(const StopAttempt& stop) {
  launcher::Stop out;
  out.uid = stop.uid;
  out.grace = stop.grace;
  out.why = StopWhyOf(stop.why);
  return out;
}

LauncherState FromLauncher(launcher::State state, const std::string& node_address) {
  LauncherState out;
  out.uid = state.uid;
  out.generation = state.generation;
  out.unknown = state.phase == launcher::Phase::kUnknown;
  out.phase = PhaseOf(state.phase);
  if (state.hello_port) out.endpoint = {state.hello_address, state.hello_port};
  else if (state.prepared_port) out.endpoint = {node_address, state.prepared_port};
  if (state.phase == launcher::Phase::kEnded) out.exit = FromLauncher(std::move(state.exit));
  if (state.forms) out.formation = FromLauncher(std::move(state.formation));
  return out;
}

std::optional<RankSaid> ParseRankLine(const Uid& uid, std::string_view line) {
  nlohmann::json object = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return std::nullopt;
  std::string type = Text(object, "type");
  RankSaid said{.uid = uid};
  if (type == "progress") {
    said.progress = ProgressOf(object);
  } else if (type == "checkpoint") {
    uint64_t bytes = std::min<uint64_t>(Number(object, "bytes"), INT64_MAX);
    said.checkpoint = CheckpointNotice{
        .step = Number(object, "step"), .path = Text(object, "path"), .bytes = static_cast<int64_t>(bytes)};
  } else {
    return std::nullopt;
  }
  return said;
}

}  // namespace gt::worker
