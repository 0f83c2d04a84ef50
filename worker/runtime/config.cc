#include "worker/runtime/config.h"

#include <unistd.h>

#include <cstdlib>

#include "common/os/file.h"
#include "common/text/access.h"
#include "common/text/text.h"

namespace gt::worker {
namespace {

const char* Getenv(const char* name) { return std::getenv(name); }

void CheckGpus(const gridtrain::v1::WorkerConfig& config, std::vector<FieldProblem>* problems) {
  for (int i = 0; i < config.gpus_size(); ++i) {
    if (config.gpus(i).fake()) continue;
    problems->push_back({"gpus[" + std::to_string(i) + "]",
                         "real GPUs are found, not declared; say `fake: true` for made-up ones"});
  }
}

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 && name[0] ? name : "node";
}

std::string DefaultAccess() {
  std::vector<std::string> candidates = AccessCandidates(Getenv);
  for (const std::string& path : candidates)
    if (Exists(path)) return path;
  return candidates.empty() ? std::string() : candidates.back();
}

}  // namespace

Result<LoadedConfig> LoadConfig(const ConfigSources& sources) {
  LoadedConfig loaded;
  MessageReader reader(&loaded.config);
  if (!sources.file.empty()) {
    GT_ASSIGN_OR_RETURN(std::string text, ReadFile(sources.file, 1 << 20));
    reader.ReadText(text, sources.file);
  }
  for (const std::string& set : sources.sets) reader.Set(set);
  for (const ConfigSources::Flag& flag : sources.flags) reader.SetFlag(flag.flag, flag.path, flag.value);
  reader.Finish();
  std::vector<FieldProblem> problems;
  CheckGpus(loaded.config, &problems);
  if (loaded.config.has_node_name() && !IsNodeName(loaded.config.node_name()))
    problems.push_back({"node_name", "must be 1 to 100 printable characters"});
  reader.Add(problems);
  GT_RETURN_IF_ERROR(reader.status());
  loaded.origins = reader.origins();
  return loaded;
}

void FillDefaults(LoadedConfig* loaded, const std::string& program) {
  gridtrain::v1::WorkerConfig& config = loaded->config;
  if (!config.has_node_name()) config.set_node_name(HostName());
  if (!config.has_data_dir()) config.set_data_dir(DefaultDataDir("worker", Getenv, geteuid() == 0));
  if (!config.has_access()) config.set_access(DefaultAccess());
  if (!config.has_checkpoint_dir()) config.set_checkpoint_dir(config.data_dir() + "/checkpoints");
  std::string beside = DirectoryOf(program);
  if (!config.has_launcher()) config.set_launcher(beside + "/gt-launcher");
  if (!config.has_trainer()) config.set_trainer(beside + "/gt-trainer");
}

}  // namespace gt::worker
