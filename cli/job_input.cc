#include "cli/job_input.h"

#include <array>
#include <filesystem>
#include <string_view>

#include "common/os/file.h"
#include "common/text/job_check.h"
#include "common/text/text.h"

namespace gt {
namespace {

using gridtrain::v1::JobSpec;

struct FlagField {
  const char* flag;
  const char* field;
};
constexpr std::array<FlagField, 12> kFlags = {{{"--name", "name"},
                                               {"--nodes", "resources.nodes"},
                                               {"--gpus-per-node", "resources.gpus_per_node"},
                                               {"--processes-per-node", "resources.processes_per_node"},
                                               {"--cpus", "resources.cpus_per_process"},
                                               {"--memory", "resources.memory_per_node"},
                                               {"--priority", "priority"},
                                               {"--time", "time_limit"},
                                               {"--array", "array"},
                                               {"--workdir", "run.workdir"},
                                               {"--retry-user", "retry.user"},
                                               {"--retry-infra", "retry.infra"}}};

std::string Absolute(const std::string& folder, const std::string& path) {
  return (std::filesystem::path(folder) / path).lexically_normal().string();
}

class PathFixer {
 public:
  PathFixer(MessageReader* reader, std::string file_folder, std::string folder)
      : reader_(reader), file_folder_(std::move(file_folder)), folder_(std::move(folder)) {}

  void Fix(const std::string& field, std::string* path) {
    if (path->empty() || path->front() == '/') return;
    if (path->front() == '~')
      return reader_->Add({{field, "starts with ~, which nothing here expands; write the whole path"}});
    auto it = reader_->origins().find(field);
    bool from_file = it != reader_->origins().end() && it->second.line > 0;
    *path = Absolute(from_file ? file_folder_ : folder_, *path);
  }

 private:
  MessageReader* reader_;
  std::string file_folder_, folder_;
};

void FixPaths(JobSpec* spec, PathFixer* fixer) {
  if (spec->has_train() && spec->train().data().has_path())
    fixer->Fix("train.data.path", spec->mutable_train()->mutable_data()->mutable_path());
  if (spec->has_train() && spec->train().checkpoint().has_dir())
    fixer->Fix("train.checkpoint.dir", spec->mutable_train()->mutable_checkpoint()->mutable_dir());
  if (spec->has_train() && spec->train().has_tensorboard())
    fixer->Fix("train.tensorboard", spec->mutable_train()->mutable_tensorboard());
  if (spec->has_run() && spec->run().has_workdir()) fixer->Fix("run.workdir", spec->mutable_run()->mutable_workdir());
}

Status AddOverlays(const JobInput& input, JobSpec* spec, MessageReader* reader) {
  for (const std::string& assignment : input.set) reader->Set(assignment);
  for (const auto& [flag, value] : input.flags) reader->SetFlag(flag, FieldOfFlag(flag), value);
  for (const std::string& variable : input.env) {
    size_t equals = variable.find('=');
    if (equals == std::string::npos || equals == 0)
      return Status(Code::kInvalidArgument, "--env " + Printable(variable) + ": write --env NAME=value");
    if (spec->has_train())
      return Status(Code::kInvalidArgument, "--env is for commands (run); the built-in trainer takes no variables");
    reader->SetFlag("--env", "run.env." + variable.substr(0, equals), std::string_view(variable).substr(equals + 1));
  }
  return OkStatus();
}

}  // namespace

std::string FieldOfFlag(const std::string& flag) {
  for (const FlagField& known : kFlags)
    if (flag == known.flag) return known.field;
  return "";
}

Result<JobReading> ReadJob(const JobInput& input, const Io& io, const std::string& folder) {
  JobReading reading;
  MessageReader reader(&reading.spec);
  std::string shown = input.file == "-" ? "standard input" : input.file, file_folder = folder;
  if (input.file == "-") {
    GT_ASSIGN_OR_RETURN(std::string text, io.in());
    reader.ReadText(text, shown);
  } else if (!input.file.empty()) {
    Result<std::string> text = ReadFile(input.file, 2 * kMaxYamlBytes);
    if (!text.ok()) return Status(Code::kInvalidArgument, text.status().message());
    file_folder = DirectoryOf(Absolute(folder, input.file));
    reader.ReadText(*text, shown);
  }
  for (const std::string& word : input.command) reading.spec.mutable_run()->add_command(word);
  GT_RETURN_IF_ERROR(AddOverlays(input, &reading.spec, &reader));
  // The rules are read from the descriptors, which take longer to build than all the rest of a submit. A bare command has
  // nothing that they could refuse but its length, and the coordinator checks them all again.
  bool bare = input.file.empty() && input.set.empty() && input.flags.empty() && input.env.empty();
  if (!bare) reader.Finish();
  PathFixer fixer(&reader, file_folder, folder);
  FixPaths(&reading.spec, &fixer);
  reader.Add(CheckJobRelations(reading.spec));
  GT_RETURN_IF_ERROR(reader.status());
  reading.origins = reader.origins();
  return reading;
}

}  // namespace gt
