// Command line and settings of gt-coordinator. Only main.cc uses it.
#pragma once
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/log/log.h"
#include "common/text/yaml_message.h"
#include "coordinator/service/coordinator.h"
#include "gridtrain/v1/config.pb.h"

namespace gt {

struct CommandLine {
  enum class Action { kRun, kPrintConfig, kVersion, kHelp };
  Action action = Action::kRun;
  std::string config_file;
  std::vector<std::string> sets;  // "a.b=v"
  std::string data_dir, listen;   // empty: not given
};
// kInvalidArgument with what to type instead.
Result<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments);
std::string HelpText();

struct Settings {
  gridtrain::v1::CoordinatorConfig config;
  OriginMap origins;
};
// File, then --set, then flags; ranges and the relations between settings are checked. kInvalidArgument with every problem on
// a line of its own.
Result<Settings> LoadSettings(const CommandLine& line);
CoordinatorOptions OptionsOf(const gridtrain::v1::CoordinatorConfig& config);

}  // namespace gt
