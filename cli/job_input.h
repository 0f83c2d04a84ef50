// From a job file, overlays and flags to a JobSpec that has been checked: everything of submit that needs no
// coordinator.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cli/io.h"
#include "common/text/yaml_message.h"
#include "gridtrain/v1/job.pb.h"

namespace gt {

struct JobInput {
  std::string file;                                        // "" for none, "-" for standard input
  std::vector<std::string> command;                        // after "--"
  std::vector<std::string> set;                            // "a.b=v"
  std::vector<std::string> env;                            // "K=V"
  std::vector<std::pair<std::string, std::string>> flags;  // flag and value: {"--nodes", "2"}
};

struct JobReading {
  gridtrain::v1::JobSpec spec;
  OriginMap origins;
};

// The field that a flag of submit stands for: "--nodes" -> "resources.nodes"; empty for no such flag.
std::string FieldOfFlag(const std::string& flag);

// kInvalidArgument with every problem on a line of its own, each with file and line or flag. Relative paths of the file
// are taken from the file's folder, those of flags and of standard input from `folder`, the current one.
Result<JobReading> ReadJob(const JobInput& input, const Io& io, const std::string& folder);

}  // namespace gt
