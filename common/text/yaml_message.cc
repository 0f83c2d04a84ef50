#include "common/text/yaml_message.h"

#include <algorithm>

#include "common/text/text.h"
#include "common/text/yaml_fill.h"

namespace gt {

namespace pb = google::protobuf;

namespace {

// Whether one path is the other or lies below it.
bool Related(const std::string& a, const std::string& b) {
  const std::string& shorter = a.size() < b.size() ? a : b;
  const std::string& longer = a.size() < b.size() ? b : a;
  if (shorter.empty()) return longer.empty();
  return longer.compare(0, shorter.size(), shorter) == 0 &&
         (longer.size() == shorter.size() || longer[shorter.size()] == '.' || longer[shorter.size()] == '[');
}

}  // namespace

std::string ToString(const Origin& origin) {
  return origin.line > 0 ? origin.source + ":" + std::to_string(origin.line) : origin.source;
}

std::string ToString(const TextProblem& problem) {
  std::string where = ToString(problem.origin);
  if (!where.empty()) where += ": ";
  return where + (problem.path.empty() ? "" : problem.path + ": ") + problem.message;
}

void MessageReader::ReadText(std::string_view text, const std::string& file) {
  std::string shown = Printable(file);
  if (first_.source.empty()) first_ = {shown, 1};
  YamlParse parse = ParseYaml(text);
  if (!parse.error.empty()) {
    problems_.push_back({{shown, parse.error_line}, "", parse.error});
    unreadable_ = true;
    return;
  }
  if (!parse.root) return;
  YamlFiller(shown, true, &problems_, &origins_).FillRoot(out_, *parse.root);
}

void MessageReader::Set(std::string_view assignment) {
  size_t equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    problems_.push_back(
        {{"--set " + Printable(assignment), 0}, "", "write --set key=value, for example --set priority=70"});
    return;
  }
  std::string path(assignment.substr(0, equals));
  Assign("--set " + Printable(path), path, assignment.substr(equals + 1));
}

void MessageReader::SetFlag(const std::string& flag, const std::string& path, std::string_view value) {
  Assign(flag, path, value);
}

void MessageReader::Assign(const std::string& source, const std::string& path, std::string_view value) {
  if (first_.source.empty()) first_ = {source, 0};
  YamlFiller(source, false, &problems_, &origins_).Assign(out_, path, value);
}

void MessageReader::Finish() { Add(CheckRules(*out_)); }

void MessageReader::Add(const std::vector<FieldProblem>& found) {
  if (unreadable_) return;
  const size_t before = problems_.size();
  for (const FieldProblem& problem : found) {
    if (problems_.size() >= kMaxProblems) return;
    auto known = [&](const TextProblem& other) { return Related(problem.path, other.path); };
    if (std::none_of(problems_.begin(), problems_.begin() + static_cast<ptrdiff_t>(before), known))
      problems_.push_back({OriginOf(problem.path), problem.path, problem.message});
  }
}

Origin MessageReader::OriginOf(std::string path) const {
  while (!path.empty()) {
    auto it = origins_.find(path);
    if (it != origins_.end()) return it->second;
    size_t cut = path.find_last_of(".[");
    path.resize(cut == std::string::npos ? 0 : cut);
  }
  return {first_.source, 0};
}

Status MessageReader::status() const {
  if (ok()) return OkStatus();
  std::string all;
  for (const TextProblem& problem : problems_) all += (all.empty() ? "" : "\n") + ToString(problem);
  return Status(Code::kInvalidArgument, all);
}

}  // namespace gt
