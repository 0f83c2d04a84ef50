// The streams of JobsService: a job's summary at each change, its history, its output.
#pragma once
#include <map>
#include <optional>

#include "coordinator/service/jobs_service.h"
#include "coordinator/service/pump_stream.h"

namespace gt {

// The newest summary that the reader has not got; those in between are skipped when it is slow. Ends after the final one.
class WatchStream final : public PumpStream<wire::JobSummary>, public Watcher {
 public:
  static grpc::ServerWriteReactor<wire::JobSummary>* Begin(const JobsDeps& deps, JobReads* reads, JobId job, std::optional<uint32_t> index);
  void Changed(const ClusterState& state) override;

 private:
  WatchStream(const JobsDeps& deps, JobReads* reads, JobId job, std::optional<uint32_t> index)
      : PumpStream(deps.pool), deps_(deps), reads_(reads), job_(job), index_(index) {}
  Result<Pumped> Next(wire::JobSummary* message) override;
  Status Subscribe();

  const JobsDeps& deps_;
  JobReads* const reads_;
  const JobId job_;
  const std::optional<uint32_t> index_;
  bool subscribed_ = false, final_sent_ = false;  // the pump's own
  std::string last_sent_;                         // the pump's own
  std::mutex pending_mutex_;
  std::optional<wire::JobSummary> pending_;
};

// A poke at each change is all that history and output need: they read what is new from the disk.
template <typename Message>
class PokedStream : public PumpStream<Message>, public Watcher {
 public:
  void Changed(const ClusterState&) override { this->Poke(); }

 protected:
  PokedStream(const JobsDeps& deps, JobReads* reads) : PumpStream<Message>(deps.pool), deps_(deps), reads_(reads) {}
  // Once, on the pool, before the first look at the disk: what comes later pokes.
  Status Subscribe(JobId job) {
    auto self = std::static_pointer_cast<PokedStream>(this->shared_from_this());
    Watchers* watchers = deps_.watchers;
    return deps_.loop->QueryAndWait([watchers, job, weak = std::weak_ptr<Watcher>(self)](const LoopView&) { watchers->Add(job, weak); });
  }
  const JobsDeps& deps_;
  JobReads* const reads_;
};

class EventStream final : public PokedStream<wire::EventBatch> {
 public:
  static grpc::ServerWriteReactor<wire::EventBatch>* Begin(const JobsDeps& deps, JobReads* reads, const wire::EventsRequest& request);

 private:
  EventStream(const JobsDeps& deps, JobReads* reads, const wire::EventsRequest& request)
      : PokedStream(deps, reads), request_(request), after_seq_(request.after_seq()) {}
  Result<Pumped> Next(wire::EventBatch* message) override;
  Result<bool> Ended();

  const wire::EventsRequest request_;
  uint64_t after_seq_;
  bool started_ = false, end_sent_ = false;
};

}  // namespace gt
