#include "coordinator/config.h"

#include <unistd.h>

#include <cstdlib>

#include "common/base/units.h"
#include "common/os/file.h"
#include "common/text/access.h"

namespace gt {
namespace {

constexpr size_t kMaxConfigBytes = 1 << 20;

Status Usage(const std::string& what) { return {Code::kInvalidArgument, what}; }

// Values of flags are the user's: --flag VALUE and --flag=VALUE.
struct Arguments {
  const std::vector<std::string>& all;
  size_t at = 0;
  Result<std::string> Value(const std::string& flag) {
    const std::string& word = all[at];
    if (word.size() > flag.size() && word[flag.size()] == '=') return word.substr(flag.size() + 1);
    if (++at >= all.size()) return Usage(flag + " needs a value");
    return all[at];
  }
};

bool Is(const std::string& word, const std::string& flag) { return word == flag || word.starts_with(flag + "="); }

// What holds between settings.
std::vector<FieldProblem> CheckRelations(const gridtrain::v1::CoordinatorConfig& config) {
  std::vector<FieldProblem> problems;
  if (config.node_lost_after() < 3 * config.beat())
    problems.push_back({"node_lost_after", FormatDuration(config.node_lost_after()) + " is less than three beats of " + FormatDuration(config.beat())});
  if (config.retry_backoff_max() < config.retry_backoff())
    problems.push_back({"retry_backoff_max", FormatDuration(config.retry_backoff_max()) + " is less than retry_backoff, " + FormatDuration(config.retry_backoff())});
  if (config.disk_low() < config.disk_min())
    problems.push_back({"disk_low", FormatBytes(config.disk_low()) + " is less than disk_min, " + FormatBytes(config.disk_min())});
  return problems;
}

}  // namespace

std::string HelpText() {
  return R"(gt-coordinator: keeps the queue of a GridTrain cluster and places its jobs.

Usage: gt-coordinator [--config FILE] [--set KEY=VALUE]... [--data-dir DIR] [--listen ADDRESS:PORT]

  --config FILE         settings (YAML); without it every setting has its default
  --set KEY=VALUE       one setting; wins over the file. May be repeated
  --data-dir DIR        where the database, logs and the access file live
  --listen ADDRESS:PORT numeric loopback address; port 0 takes a free one
  --print-config        show the effective settings and where each comes from, then exit
  --version             show the version, then exit
  --help                show this, then exit

Workers and gtctl find the address and the token in DIR/access.

Examples:
  gt-coordinator
  gt-coordinator --data-dir /tmp/gt --listen 127.0.0.1:0
  gt-coordinator --config /etc/gridtrain/coordinator.yaml --set node_lost_after=60s --print-config

Exit codes: 0 stopped as asked, 1 could not start or had to end, 2 wrong usage or settings.
)";
}

Result<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments) {
  CommandLine line;
  Arguments args{arguments};
  for (; args.at < arguments.size(); args.at++) {
    const std::string word = arguments[args.at];
    if (word == "--help" || word == "-h") line.action = CommandLine::Action::kHelp;
    else if (word == "--version") line.action = CommandLine::Action::kVersion;
    else if (word == "--print-config") line.action = CommandLine::Action::kPrintConfig;
    else if (Is(word, "--config")) { GT_ASSIGN_OR_RETURN(line.config_file, args.Value("--config")); }
    else if (Is(word, "--data-dir")) { GT_ASSIGN_OR_RETURN(line.data_dir, args.Value("--data-dir")); }
    else if (Is(word, "--listen")) { GT_ASSIGN_OR_RETURN(line.listen, args.Value("--listen")); }
    else if (Is(word, "--set")) { GT_ASSIGN_OR_RETURN(std::string set, args.Value("--set")); line.sets.push_back(std::move(set)); }
    else {
      static constexpr std::string_view kFlags[] = {"--config", "--set", "--data-dir", "--listen", "--print-config", "--version", "--help"};
      std::string near = Nearest(word, kFlags);
      return Usage("unknown argument '" + word + "'" + (near.empty() ? "" : "; did you mean " + near + "?"));
    }
  }
  return line;
}

Result<Settings> LoadSettings(const CommandLine& line) {
  Settings settings;
  MessageReader reader(&settings.config);
  if (!line.config_file.empty()) {
    Result<std::string> text = ReadFile(line.config_file, kMaxConfigBytes);
    if (!text.ok()) return Usage(text.status().message());
    reader.ReadText(*text, line.config_file);
  }
  for (const std::string& set : line.sets) reader.Set(set);
  if (!line.data_dir.empty()) reader.SetFlag("--data-dir", "data_dir", line.data_dir);
  if (!line.listen.empty()) reader.SetFlag("--listen", "listen", line.listen);
  reader.Finish();
  if (reader.ok()) reader.Add(CheckRelations(settings.config));
  GT_RETURN_IF_ERROR(reader.status());
  if (settings.config.data_dir().empty()) settings.config.set_data_dir(DefaultDataDir("coordinator", [](const char* name) -> const char* { return std::getenv(name); }, ::geteuid() == 0));
  settings.origins = reader.origins();
  return settings;
}

CoordinatorOptions OptionsOf(const gridtrain::v1::CoordinatorConfig& config) {
  CoordinatorOptions options;
  options.data_dir = config.data_dir();
  options.listen = config.listen();
  options.policy.beat = config.beat();
  options.policy.node_lost_after = config.node_lost_after();
  options.policy.fail_grace = config.fail_grace();
  options.policy.reform_timeout = config.reform_timeout();
  options.policy.placement_wait = config.placement_wait();
  options.policy.start_timeout = config.start_timeout();
  options.policy.retry_backoff = config.retry_backoff();
  options.policy.retry_backoff_max = config.retry_backoff_max();
  options.disk_low = config.disk_low();
  options.disk_min = config.disk_min();
  options.log_retention = config.log_retention();
  options.history_retention = config.history_retention();
  return options;
}

}  // namespace gt
