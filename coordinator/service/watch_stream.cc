#include "coordinator/service/live.h"
#include "coordinator/service/streams.h"

namespace gt {

grpc::ServerWriteReactor<wire::JobSummary>* WatchStream::Begin(const JobsDeps& deps, JobReads* reads, JobId job, std::optional<uint32_t> index) {
  return Start(std::shared_ptr<WatchStream>(new WatchStream(deps, reads, job, index)));
}

void WatchStream::Changed(const ClusterState& state) {
  wire::JobSummary summary;
  if (!LiveSummary(state, deps_.loop->policy(), deps_.clock(), job_, index_, &summary)) return;
  {
    std::lock_guard lock(pending_mutex_);
    pending_ = std::move(summary);
  }
  Poke();
}

// From then on changes arrive; what is true now is looked up after that, so nothing falls in between.
Status WatchStream::Subscribe() {
  auto self = std::static_pointer_cast<WatchStream>(shared_from_this());
  GT_RETURN_IF_ERROR(deps_.loop->QueryAndWait([watchers = deps_.watchers, job = job_, weak = std::weak_ptr<Watcher>(self)](const LoopView&) { watchers->Add(job, weak); }));
  GT_ASSIGN_OR_RETURN(wire::JobSummary now, reads_->Summary(job_, index_));
  std::lock_guard lock(pending_mutex_);
  bool newer_came = pending_.has_value() && IsFinal(static_cast<TaskState>(pending_->state()));
  if (!newer_came) pending_ = std::move(now);
  return OkStatus();
}

Result<Pumped> WatchStream::Next(wire::JobSummary* message) {
  if (final_sent_) return Pumped::kEnd;
  if (!subscribed_) {
    GT_RETURN_IF_ERROR(Subscribe());
    subscribed_ = true;
  }
  {
    std::lock_guard lock(pending_mutex_);
    if (!pending_) return Pumped::kNothingYet;
    message->Swap(&*pending_);
    pending_.reset();
  }
  final_sent_ = IsFinal(static_cast<TaskState>(message->state()));
  std::string bytes = message->SerializeAsString();
  if (bytes == last_sent_) return final_sent_ ? Pumped::kEnd : Pumped::kNothingYet;
  last_sent_ = std::move(bytes);
  return Pumped::kMessage;
}

}  // namespace gt
