#include "cli/select.h"

#include <algorithm>

#include "common/text/text.h"

namespace gt {
namespace {

using namespace gridtrain::v1;

bool Same(const TaskSelector& a, const TaskSelector& b) { return a.job == b.job && a.index == b.index; }

Status NotASelector(const std::string& word) {
  return Status(Code::kInvalidArgument,
                "\"" + Printable(word) + "\" names no job; write 42, 42_7 (a task of an array), 12-20 or @last");
}

Result<TaskSelector> Last(Session* session) {
  GT_ASSIGN_OR_RETURN(Client * client, session->client());
  ListRequest request;
  request.set_all(true);
  request.set_limit(1);
  request.set_owner(session->UserName());
  ListResponse response;
  GT_RETURN_IF_ERROR(client->List(request, &response));
  if (response.jobs_size() == 0)
    return Status(Code::kNotFound, session->UserName() + " has no jobs yet, so there is no @last");
  return TaskSelector{JobId{response.jobs(0).job_id()}, std::nullopt};
}

Status AddRange(const std::string& word, size_t dash, std::vector<TaskSelector>* selected) {
  auto first = ParseTaskSelector(word.substr(0, dash)), last = ParseTaskSelector(word.substr(dash + 1));
  if (!first || !last || first->index || last->index) return NotASelector(word);
  if (last->job < first->job) return Status(Code::kInvalidArgument, "\"" + Printable(word) + "\" runs backwards");
  if (last->job.value - first->job.value >= kMaxSelected)
    return Status(Code::kInvalidArgument,
                  "\"" + Printable(word) + "\" names more than " + std::to_string(kMaxSelected) + " jobs");
  for (uint64_t id = first->job.value; id <= last->job.value; ++id) selected->push_back({JobId{id}, std::nullopt});
  return OkStatus();
}

}  // namespace

std::string ToString(const TaskSelector& selector) {
  return ToString(TaskId{selector.job, selector.index.value_or(0)}, selector.index.has_value());
}

Result<std::vector<TaskSelector>> Select(Session* session, const std::vector<std::string>& words) {
  std::vector<TaskSelector> selected;
  for (const std::string& word : words) {
    if (word == "@last") {
      GT_ASSIGN_OR_RETURN(TaskSelector last, Last(session));
      selected.push_back(last);
    } else if (size_t dash = word.find('-'); dash != std::string::npos) {
      GT_RETURN_IF_ERROR(AddRange(word, dash, &selected));
    } else if (auto one = ParseTaskSelector(word)) {
      selected.push_back(*one);
    } else {
      return NotASelector(word);
    }
  }
  std::vector<TaskSelector> unique;
  for (const TaskSelector& one : selected)
    if (std::none_of(unique.begin(), unique.end(), [&](const TaskSelector& other) { return Same(one, other); }))
      unique.push_back(one);
  if (unique.size() > kMaxSelected)
    return Status(Code::kInvalidArgument, "more than " + std::to_string(kMaxSelected) + " jobs are named");
  return unique;
}

Result<TaskSelector> SelectOne(Session* session, const std::string& word) {
  GT_ASSIGN_OR_RETURN(std::vector<TaskSelector> selected, Select(session, {word}));
  if (selected.size() != 1)
    return Status(Code::kInvalidArgument, "\"" + Printable(word) + "\" names several jobs; this command takes one");
  return selected.front();
}

}  // namespace gt
