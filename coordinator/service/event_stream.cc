#include "common/text/text.h"
#include "coordinator/service/streams.h"

namespace gt {
namespace {

constexpr uint32_t kBatch = 500;

void FillEvent(const HistoryEntry& entry, wire::EventLine* out) {
  out->set_seq(entry.seq);
  out->set_at_ms(entry.at_wall);
  out->set_job_id(entry.line.job.value);
  if (entry.line.task_index) out->set_task_index(*entry.line.task_index);
  if (entry.line.attempt != 0) out->set_attempt(entry.line.attempt);
  out->set_kind(entry.line.kind);
  out->set_node(entry.line.node);
  out->set_text(entry.line.text);
}

}  // namespace

grpc::ServerWriteReactor<wire::EventBatch>* EventStream::Begin(const JobsDeps& deps, JobReads* reads, const wire::EventsRequest& request) {
  return Start(std::shared_ptr<EventStream>(new EventStream(deps, reads, request)));
}

// Asked before the events are read: what ends a job is in the same transaction as its last event.
Result<bool> EventStream::Ended() {
  if (!request_.follow()) return true;
  if (request_.job_id() == 0) return false;
  std::optional<uint32_t> index;
  if (request_.has_task_index()) index = request_.task_index();
  GT_ASSIGN_OR_RETURN(Job row, reads_->Row({request_.job_id()}, index));
  return reads_->IsFinal(row, index);
}

Result<Pumped> EventStream::Next(wire::EventBatch* message) {
  if (end_sent_) return Pumped::kEnd;
  JobId job{request_.job_id()};
  if (!started_) {
    if (job.value != 0) {
      std::optional<uint32_t> index;
      if (request_.has_task_index()) index = request_.task_index();
      GT_RETURN_IF_ERROR(reads_->Row(job, index).status());
    }
    if (request_.follow()) GT_RETURN_IF_ERROR(Subscribe(job));
    started_ = true;
  }
  GT_ASSIGN_OR_RETURN(bool ended, Ended());
  while (message->events_size() == 0) {
    GT_ASSIGN_OR_RETURN(std::vector<HistoryEntry> entries, deps_.store->Events(job, after_seq_, kBatch));
    if (entries.empty()) {
      if (!ended) return Pumped::kNothingYet;
      message->set_end(true);
      end_sent_ = true;
      return Pumped::kMessage;
    }
    after_seq_ = entries.back().seq;
    for (const HistoryEntry& entry : entries)
      if (!request_.has_task_index() || entry.line.task_index.value_or(request_.task_index()) == request_.task_index()) FillEvent(entry, message->add_events());
  }
  return Pumped::kMessage;
}

}  // namespace gt
