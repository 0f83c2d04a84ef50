#include "common/text/job_check.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "common/base/units.h"
#include "common/text/job_check_train.h"
#include "common/text/text.h"

namespace gt {
namespace {

using gridtrain::v1::JobSpec;
using gridtrain::v1::RunSpec;

constexpr int64_t kMaxWorld = 65536;  // ranks of one gang

using Problems = std::vector<FieldProblem>;

// One string of the exec call; its size with the terminating zero is added to `total`.
void CheckExecString(const std::string& path, const std::string& text, size_t size, size_t* total, Problems* problems) {
  *total += size + 1 + sizeof(char*);
  if (text.find('\0') != std::string::npos) problems->push_back({path, "has a zero byte"});
  if (size + 1 > kMaxExecString)
    problems->push_back({path, "is " + FormatBytes(static_cast<int64_t>(size)) +
                                   " long; Linux takes less than 128KiB in one argument or variable"});
}

bool IsVariableName(const std::string& name) {
  return !name.empty() && name.find('=') == std::string::npos && name.find('\0') == std::string::npos &&
         IsPrintable(name);
}

void CheckRun(const RunSpec& run, Problems* problems) {
  size_t total = 0;
  for (int i = 0; i < run.command_size(); ++i)
    CheckExecString("run.command[" + std::to_string(i) + "]", run.command(i), run.command(i).size(), &total, problems);
  if (run.command_size() > 0 && run.command(0).empty())
    problems->push_back({"run.command[0]", "is empty; it names the program"});
  for (const auto& [name, value] : run.env()) {
    std::string path = "run.env." + Printable(name);
    if (!IsVariableName(name)) problems->push_back({path, "cannot be the name of a variable"});
    CheckExecString(path, value, name.size() + 1 + value.size(), &total, problems);
  }
  if (total > kMaxExecBytes - kReservedExecBytes)
    problems->push_back({"run.command", "command and env together take " + FormatBytes(static_cast<int64_t>(total)) +
                                            "; Linux takes at most 2MiB, of which 16KiB are ours"});
  if (run.workdir().find('\0') != std::string::npos) problems->push_back({"run.workdir", "has a zero byte"});
}

void CheckResources(const JobSpec& spec, Problems* problems) {
  const auto& resources = spec.resources();
  int32_t gpus = resources.gpus_per_node(), processes = resources.processes_per_node();
  bool filter = resources.has_gpu() && (resources.gpu().model_size() > 0 || resources.gpu().has_memory());
  if (filter && gpus == 0) problems->push_back({"resources.gpu", "asks for a kind of GPU, but gpus_per_node is 0"});
  for (int i = 0; i < resources.gpu().model_size(); ++i)
    if (resources.gpu().model(i).empty())
      problems->push_back({"resources.gpu.model[" + std::to_string(i) + "]", "is empty"});
  if (spec.has_train() && resources.has_processes_per_node() && gpus > 0 && processes != gpus)
    problems->push_back(
        {"resources.processes_per_node", "is " + std::to_string(processes) +
                                             ", but the built-in trainer runs one process a GPU and gpus_per_node is " +
                                             std::to_string(gpus)});
  if (spec.has_run() && resources.has_processes_per_node() && gpus > 0 && processes > 0 && processes != 1 &&
      gpus % processes != 0 && processes % gpus != 0)
    problems->push_back({"resources.processes_per_node", std::to_string(processes) + " processes cannot share " +
                                                             std::to_string(gpus) + " GPUs evenly"});
  int64_t world = static_cast<int64_t>(std::max(resources.nodes().count(), 1)) * std::max({processes, gpus, 1});
  if (world > kMaxWorld)
    problems->push_back({"resources", "asks for " + std::to_string(world) + " ranks that start together; at most " +
                                          std::to_string(kMaxWorld) + " can"});
}

void CheckLife(const JobSpec& spec, Problems* problems) {
  if (spec.has_time_limit() && spec.has_grace() && spec.grace() > spec.time_limit())
    problems->push_back(
        {"grace", FormatDuration(spec.grace()) + " is longer than time_limit, " + FormatDuration(spec.time_limit())});
  const auto& disconnect = spec.on_disconnect();
  bool stops = disconnect.action() == gridtrain::v1::STOP_AFTER;
  if (stops && !disconnect.has_stop_after())
    problems->push_back({"on_disconnect.stop_after",
                         "is required with stop_after: how long, for example {action: stop_after, stop_after: 10m}"});
  if (!stops && disconnect.has_stop_after())
    problems->push_back({"on_disconnect.stop_after",
                         "has no meaning while action is continue; write {action: stop_after, stop_after: " +
                             FormatDuration(disconnect.stop_after()) + "}"});
}

std::optional<uint32_t> ParseIndex(std::string_view text) {
  uint32_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool whole = error == std::errc() && end == text.data() + text.size() && (text.size() == 1 || text[0] != '0');
  return whole && value < UINT32_MAX ? std::optional(value) : std::nullopt;
}

}  // namespace

Result<ArrayRange> ParseArrayRange(std::string_view text) {
  size_t dash = text.find('-');
  auto first = ParseIndex(text.substr(0, dash));
  auto last = dash == std::string_view::npos ? first : ParseIndex(text.substr(dash + 1));
  std::string shown = "\"" + Printable(FitColumns(text, 40)) + "\"";
  if (!first || !last) return Status(Code::kInvalidArgument, shown + " is not a range of indices; write 0-15 or 7");
  if (*last < *first)
    return Status(Code::kInvalidArgument,
                  shown + " runs backwards; write " + std::to_string(*last) + "-" + std::to_string(*first));
  if (*last - *first >= kMaxArrayTasks)
    return Status(Code::kInvalidArgument, shown + " has " + std::to_string(uint64_t{*last} - *first + 1) +
                                              " tasks; at most " + std::to_string(kMaxArrayTasks) + " are allowed");
  if (*last > kMaxArrayIndex)
    return Status(Code::kInvalidArgument, shown + " is too high; indices go up to " + std::to_string(kMaxArrayIndex));
  return ArrayRange{*first, *last};
}

JobShape ShapeOf(const JobSpec& spec) {
  const auto& resources = spec.resources();
  JobShape shape;
  shape.nodes = std::max(resources.nodes().count(), 1);
  shape.gpus_per_node = std::max(resources.gpus_per_node(), 0);
  shape.ranks_per_node = resources.has_processes_per_node() ? std::max(resources.processes_per_node(), 1)
                                                            : std::max(shape.gpus_per_node, 1);
  shape.world_size = shape.nodes * shape.ranks_per_node;
  shape.cpus_per_node = shape.ranks_per_node * std::max(resources.cpus_per_process(), 0);
  shape.memory_per_node = std::max<int64_t>(resources.memory_per_node(), 0);
  shape.array = spec.has_array();
  if (auto range = ParseArrayRange(spec.array()); shape.array && range.ok()) shape.indices = *range;
  return shape;
}

std::vector<FieldProblem> CheckJobRelations(const JobSpec& spec) {
  Problems problems;
  if (spec.has_train() == spec.has_run())
    problems.push_back({"", spec.has_train()
                                ? "has both train and run; a job is one of them"
                                : "has neither train (the built-in trainer) nor run (a command of your own)"});
  if (spec.has_name() && spec.name().empty()) problems.push_back({"name", "is empty; leave it out to have none"});
  if (spec.has_array())
    if (auto range = ParseArrayRange(spec.array()); !range.ok())
      problems.push_back({"array", range.status().message()});
  if (spec.has_train()) CheckTrain(spec.train(), ShapeOf(spec).world_size, &problems);
  if (spec.has_run()) CheckRun(spec.run(), &problems);
  CheckResources(spec, &problems);
  CheckLife(spec, &problems);
  return problems;
}

std::vector<FieldProblem> CheckJob(const JobSpec& spec) {
  Problems problems = CheckRules(spec);
  for (FieldProblem& found : CheckJobRelations(spec)) {
    bool known =
        std::any_of(problems.begin(), problems.end(), [&](const FieldProblem& p) { return p.path == found.path; });
    if (!known) problems.push_back(std::move(found));
  }
  return problems;
}

}  // namespace gt
