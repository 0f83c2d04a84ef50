// Answers about jobs: committed rows from the store, and what only memory knows on top. These wait for the disk and for the
// loop (never long): call them on the pool's threads.
#pragma once
#include <optional>

#include "coordinator/loop.h"
#include "coordinator/service/convert.h"
#include "coordinator/store/store.h"

namespace gt {

class JobReads {
 public:
  JobReads(Store* store, Loop* loop) : store_(store), loop_(loop) {}

  Result<wire::ListResponse> List(const wire::ListRequest& request);
  // kNotFound names the job.
  Result<wire::JobSummary> Summary(JobId job, std::optional<uint32_t> index);
  Result<wire::JobDetail> Detail(JobId job, std::optional<uint32_t> index);
  Result<wire::ExplainResponse> Explain(JobId job, std::optional<uint32_t> index);
  Result<wire::ListNodesResponse> Nodes();
  Result<NodeNames> Names();
  // The job's row; kNotFound also for an index that it does not have.
  Result<Job> Row(JobId job, std::optional<uint32_t> index);
  bool IsFinal(const Job& row, std::optional<uint32_t> index);

 private:
  // From rows alone.
  Result<wire::JobSummary> StoredSummary(const Job& row, std::optional<uint32_t> index);
  Status AddTask(const Task& task, const NodeNames& names, wire::JobDetail* detail);

  Store* const store_;
  Loop* const loop_;
};

}  // namespace gt
