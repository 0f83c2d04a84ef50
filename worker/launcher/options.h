// The command line of gt-launcher.
#pragma once
#include <string>
#include <vector>

#include "common/base/status.h"
#include "worker/launcher/spool.h"

namespace gt::launcher {

struct Options {
  std::string dir;
  std::string job_user;      // "": nobody when we are root, else ourselves
  bool allow_root_jobs = false;
  bool help = false;  // asked for; nothing else counts
  std::string cgroup_root;   // "": below our own cgroup
  std::string containment = "auto";  // auto | cgroup | keeper
  std::string work_dir;      // "": a directory of the job user's in the rank directory
  std::string rank_dir;      // "": /tmp/gt-<hash of dir>
  SpoolLimits spool;
};

Result<Options> ParseOptions(const std::vector<std::string>& arguments);
std::string Usage();

}  // namespace gt::launcher
