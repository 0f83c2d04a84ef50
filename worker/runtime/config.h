// The worker's settings: a YAML file, then --set, then flags; checked once.
#pragma once
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/text/yaml_message.h"
#include "gridtrain/v1/config.pb.h"

namespace gt::worker {

struct ConfigSources {
  struct Flag { std::string flag, path, value; };
  std::string file;                // empty: none
  std::vector<std::string> sets;   // "a.b=v"
  std::vector<Flag> flags;
};

struct LoadedConfig {
  gridtrain::v1::WorkerConfig config;
  OriginMap origins;
};

// kInvalidArgument with every problem on a line of its own.
Result<LoadedConfig> LoadConfig(const ConfigSources& sources);

// What is left open by the settings is filled in: data_dir, access, node_name, checkpoint_dir, launcher, trainer.
// `program`: the path of this gt-worker; its neighbours are beside it.
void FillDefaults(LoadedConfig* loaded, const std::string& program);

}  // namespace gt::worker
