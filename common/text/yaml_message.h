// YAML -> protobuf by reflection: job files, settings and the overlays of the command line. It collects everything that
// is wrong, each with file, line and key, before it answers. One reader fills one message; not for several threads.
//
//   MessageReader reader(&spec);
//   reader.ReadText(text, "job.yaml");          // any number of files and settings, later ones win
//   reader.Set("resources.nodes=4");            // --set
//   reader.Finish();                            // rules over the whole: ranges, required, not supported yet
//   if (!reader.ok()) for (auto& p : reader.problems()) Print(ToString(p));
//
// Written as people write them: durations "15m", sizes "2GiB", enums in lower case without their prefix. Numbers are
// strict (no hex, no leading zeros, no quotes); string fields and the values of string maps take scalars literally, so
// yes, 1.0 and 0x10 stay the text that they are.
#pragma once
#include <google/protobuf/message.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/text/field_rules.h"
#include "common/text/yaml_tree.h"

namespace gt {

// Where a value came from.
struct Origin {
  std::string source;  // a file's name, "--set a.b", or a flag
  int line = 0;        // 0: not from a file
};
std::string ToString(const Origin& origin);       // "job.yaml:7", "--nodes"
using OriginMap = std::map<std::string, Origin>;  // by path: "run.env.A", "run.command[0]"

struct TextProblem {
  Origin origin;
  std::string path;  // empty: of the file as a whole
  std::string message;
};
std::string ToString(const TextProblem& problem);  // "job.yaml:7: train.epochs: 0 is too small; the least is 1"

constexpr size_t kMaxProblems = 100;  // what comes after them is not told

class MessageReader {
 public:
  // `out` must outlive the reader. What is not named by any input keeps its value.
  explicit MessageReader(google::protobuf::Message* out) : out_(out) {}

  void ReadText(std::string_view text, const std::string& file);
  // "a.b=v": one value by its path. A string field takes v literally; any other reads it as YAML ("[a, b]", "{k: v}").
  void Set(std::string_view assignment);
  // The same for a flag of the command line that stands for a path; problems name the flag.
  void SetFlag(const std::string& flag, const std::string& path, std::string_view value);
  // Checks the rules of options.proto over the whole message; once, after the last input.
  void Finish();
  // Adds what a later check found (CheckJob), at the line of its path or of the nearest parent that has one. Paths that
  // have a problem already, or lie above or below one that has, and everything after a file that is not YAML at all,
  // are left out: they would only repeat it.
  void Add(const std::vector<FieldProblem>& found);

  bool ok() const { return problems_.empty(); }
  const std::vector<TextProblem>& problems() const { return problems_; }
  const OriginMap& origins() const { return origins_; }
  // kInvalidArgument with every problem on a line of its own; ok when there are none.
  Status status() const;

 private:
  friend class YamlFiller;
  void Assign(const std::string& source, const std::string& path, std::string_view value);
  Origin OriginOf(std::string path) const;

  google::protobuf::Message* out_;
  std::vector<TextProblem> problems_;
  OriginMap origins_;
  bool unreadable_ = false;
  Origin first_;  // the first input: what a missing field is blamed on
};

}  // namespace gt
