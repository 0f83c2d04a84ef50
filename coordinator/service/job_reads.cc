#include "coordinator/service/job_reads.h"

#include <algorithm>

#include "coordinator/core/explain.h"
#include "coordinator/service/live.h"

namespace gt {
namespace {

constexpr uint32_t kDefaultLimit = 50, kMaxLimit = 1000, kMaxTasksShown = 100;
constexpr int kMaxPages = 20;  // of up to 50,000 rows each

Status NotFound(JobId job, std::optional<uint32_t> index) {
  std::string name = std::to_string(job.value) + (index ? "_" + std::to_string(*index) : "");
  return {Code::kNotFound, "there is no job " + name};
}

JobFilter ConvertFilter(const wire::ListRequest& request) {
  JobFilter filter;
  for (int state : request.states()) filter.states.push_back(static_cast<TaskState>(state));
  filter.all = request.all();
  filter.name_glob = request.name_glob();
  filter.owner = request.owner();
  filter.before = {request.before_id()};
  filter.limit = std::clamp<uint32_t>(request.limit() == 0 ? kDefaultLimit : request.limit(), 1, kMaxLimit);
  return filter;
}

}  // namespace

Result<wire::ListResponse> JobReads::List(const wire::ListRequest& request) {
  JobFilter filter = ConvertFilter(request);
  const uint32_t limit = filter.limit;
  wire::ListResponse response;
  auto live = std::make_shared<std::map<uint64_t, wire::JobSummary>>();
  for (int page = 0; page < kMaxPages; page++) {
    GT_ASSIGN_OR_RETURN(JobPage rows, store_->ListJobs(filter));
    for (const Job& row : rows.jobs) {
      FillSummary(row, response.add_jobs());
      if (!gt::IsFinal(JobState(row))) (*live)[row.id.value];
    }
    response.set_more(rows.more);
    filter.before = rows.next_before;
    filter.limit = limit - static_cast<uint32_t>(response.jobs_size());
    if (!rows.more || filter.limit == 0) break;
  }
  GT_ASSIGN_OR_RETURN(uint64_t total_live, store_->CountLiveJobs());
  response.set_total_live(total_live);
  if (live->empty()) return response;
  GT_RETURN_IF_ERROR(loop_->QueryAndWait([live](const LoopView& view) {
    for (auto& [id, summary] : *live)
      if (view.committed) LiveSummary(view.state, view.policy, view.now, {id}, std::nullopt, &summary);
  }));
  for (wire::JobSummary& summary : *response.mutable_jobs()) {
    auto it = live->find(summary.job_id());
    if (it != live->end() && it->second.has_job_id()) summary.Swap(&it->second);
  }
  return response;
}

Result<Job> JobReads::Row(JobId job, std::optional<uint32_t> index) {
  Result<Job> row = store_->GetJob(job);
  if (!row.ok() && row.status().code() == Code::kNotFound) return NotFound(job, index);
  if (!row.ok()) return row.status();
  if (index && (*index < row->range.first || *index > row->range.last)) return NotFound(job, index);
  return row;
}

bool JobReads::IsFinal(const Job& row, std::optional<uint32_t> index) {
  if (gt::IsFinal(JobState(row)) || !index) return gt::IsFinal(JobState(row));
  Result<wire::JobSummary> summary = StoredSummary(row, index);
  return summary.ok() && gt::IsFinal(static_cast<TaskState>(summary->state()));
}

Result<wire::JobSummary> JobReads::StoredSummary(const Job& row, std::optional<uint32_t> index) {
  wire::JobSummary summary;
  std::optional<Task> task;
  if (index || !row.array) {
    GT_ASSIGN_OR_RETURN(std::vector<Task> tasks, store_->GetTasks(row.id, index ? *index : row.range.first, 1));
    if (!tasks.empty()) task = std::move(tasks[0]);
  }
  std::optional<Attempt> newest;
  if (task && task->attempts > 0) {
    Result<Attempt> attempt = store_->GetAttemptByNumber(task->id, 0);
    if (attempt.ok()) newest = *std::move(attempt);
    else if (attempt.status().code() != Code::kNotFound) return attempt.status();
  }
  if (index) FillTaskSummary(row, *index, task ? &*task : nullptr, newest ? &*newest : nullptr, &summary);
  else FillSummary(row, &summary);
  if (newest) {
    GT_ASSIGN_OR_RETURN(NodeNames names, Names());
    FillFromAttempt(*newest, names, &summary);
  }
  return summary;
}

Result<wire::JobSummary> JobReads::Summary(JobId job, std::optional<uint32_t> index) {
  auto live = std::make_shared<wire::JobSummary>();
  GT_RETURN_IF_ERROR(loop_->QueryAndWait([live, job, index](const LoopView& view) {
    if (view.committed) LiveSummary(view.state, view.policy, view.now, job, index, live.get());
  }));
  if (live->has_job_id()) return std::move(*live);
  GT_ASSIGN_OR_RETURN(Job row, Row(job, index));
  return StoredSummary(row, index);
}

Result<NodeNames> JobReads::Names() {
  auto names = std::make_shared<NodeNames>();
  GT_RETURN_IF_ERROR(loop_->QueryAndWait([names](const LoopView& view) { *names = NamesOf(view.state); }));
  return std::move(*names);
}

Result<wire::JobDetail> JobReads::Detail(JobId job, std::optional<uint32_t> index) {
  wire::JobDetail detail;
  GT_ASSIGN_OR_RETURN(*detail.mutable_summary(), Summary(job, index));
  GT_ASSIGN_OR_RETURN(Job row, Row(job, index));
  if (!detail.mutable_spec()->ParseFromString(row.spec)) return Status(Code::kDataLoss, "the stored spec of job " + std::to_string(job.value) + " cannot be read");
  GT_ASSIGN_OR_RETURN(std::vector<Task> tasks, store_->GetTasks(job, index, kMaxTasksShown));
  GT_ASSIGN_OR_RETURN(NodeNames names, Names());
  for (const Task& task : tasks) GT_RETURN_IF_ERROR(AddTask(task, names, &detail));
  return detail;
}

Status JobReads::AddTask(const Task& task, const NodeNames& names, wire::JobDetail* detail) {
  wire::TaskDetail* out = detail->add_tasks();
  FillTask(task, out);
  GT_ASSIGN_OR_RETURN(std::vector<Attempt> attempts, store_->GetAttempts(task.id));
  for (const Attempt& attempt : attempts) FillAttempt(attempt, names, out->add_attempts());
  if (!attempts.empty() && !task.checkpoint.empty()) {
    wire::AttemptDetail* newest = out->mutable_attempts(out->attempts_size() - 1);
    newest->set_checkpoint(task.checkpoint);
    newest->set_checkpoint_step(task.checkpoint_step);
  }
  return OkStatus();
}

Result<wire::ExplainResponse> JobReads::Explain(JobId job, std::optional<uint32_t> index) {
  auto response = std::make_shared<wire::ExplainResponse>();
  GT_RETURN_IF_ERROR(loop_->QueryAndWait([response, job, index](const LoopView& view) {
    if (!LiveSummary(view.state, view.policy, view.now, job, index, response->mutable_summary())) return response->Clear();
    Explanation why = gt::Explain(view.state, view.policy, job, view.now, index);
    response->set_headline(view.held_reason.empty() ? why.headline : view.held_reason);
    for (const std::string& detail : why.details) response->add_details(detail);
    if (why.until != 0 && why.until != kNever) response->set_until_ms(view.now.wall + why.until - view.now.mono);
    response->set_ahead(why.ahead);
  }));
  if (response->has_summary()) return std::move(*response);
  GT_ASSIGN_OR_RETURN(Job row, Row(job, index));
  GT_ASSIGN_OR_RETURN(*response->mutable_summary(), StoredSummary(row, index));
  const wire::JobSummary& summary = response->summary();
  std::string state(Name(static_cast<TaskState>(summary.state())));
  response->set_headline("it is over: " + state + (summary.reason().empty() ? "" : ", " + summary.reason()));
  return std::move(*response);
}

Result<wire::ListNodesResponse> JobReads::Nodes() {
  auto response = std::make_shared<wire::ListNodesResponse>();
  GT_RETURN_IF_ERROR(loop_->QueryAndWait([response](const LoopView& view) {
    for (const auto& [id, node] : view.state.nodes) FillNode(node, view.policy, view.now, response->add_nodes());
  }));
  std::sort(response->mutable_nodes()->begin(), response->mutable_nodes()->end(),
            [](const wire::NodeSummary& a, const wire::NodeSummary& b) { return a.name() < b.name(); });
  return std::move(*response);
}

}  // namespace gt
