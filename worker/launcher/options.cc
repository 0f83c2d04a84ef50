#include "worker/launcher/options.h"

#include "common/base/units.h"

namespace gt::launcher {

std::string Usage() {
  return "usage: gt-launcher --dir DIR [--job-user NAME] [--allow-root-jobs] [--cgroup-root PATH]\n"
         "                   [--containment auto|cgroup|keeper] [--work-dir PATH] [--rank-dir PATH]\n"
         "                   [--spool-segment SIZE] [--spool-limit SIZE] [--rank-output-limit SIZE]\n"
         "Owns the rank processes of this node. Started by gt-worker; DIR must not be shared by two launchers.\n";
}

namespace {
Status Set(Options* options, const std::string& name, const std::string& value) {
  struct { const char* name; std::string* to; } texts[] = {
      {"--dir", &options->dir}, {"--job-user", &options->job_user}, {"--cgroup-root", &options->cgroup_root},
      {"--containment", &options->containment}, {"--work-dir", &options->work_dir}, {"--rank-dir", &options->rank_dir}};
  for (auto& text : texts)
    if (name == text.name) return *text.to = value, OkStatus();
  struct { const char* name; int64_t* to; } sizes[] = {{"--spool-segment", &options->spool.segment},
                                                       {"--spool-limit", &options->spool.node},
                                                       {"--rank-output-limit", &options->spool.rank}};
  for (auto& size : sizes) {
    if (name != size.name) continue;
    GT_ASSIGN_OR_RETURN(*size.to, ParseBytes(value));
    if (*size.to < 4096) return Status(Code::kInvalidArgument, name + ": at least 4KiB");
    return OkStatus();
  }
  return Status(Code::kInvalidArgument, "unknown option " + name);
}
}  // namespace

Result<Options> ParseOptions(const std::vector<std::string>& arguments) {
  Options options;
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string name = arguments[i], value;
    if (name == "--help" || name == "-h") {
      options.help = true;
      return options;
    }
    if (name == "--allow-root-jobs") {
      options.allow_root_jobs = true;
      continue;
    }
    if (size_t equals = name.find('='); equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
    } else if (++i < arguments.size()) {
      value = arguments[i];
    } else {
      return Status(Code::kInvalidArgument, name + " needs a value");
    }
    GT_RETURN_IF_ERROR(Set(&options, name, value));
  }
  if (options.dir.empty()) return Status(Code::kInvalidArgument, "--dir is missing");
  const std::string& kind = options.containment;
  if (kind != "auto" && kind != "cgroup" && kind != "keeper") {
    return Status(Code::kInvalidArgument, "--containment is auto, cgroup or keeper, not '" + kind + "'");
  }
  return options;
}

}  // namespace gt::launcher
