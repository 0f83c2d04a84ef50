// What a task printed, attempt by attempt, as it arrives: read from the disk, merged over ranks and streams. With follow it
// ends when the task is final and everything that its exit records promise was sent.
#pragma once
#include <grpcpp/alarm.h>

#include <deque>

#include "coordinator/logs/log_store.h"
#include "coordinator/service/streams.h"

namespace gt {

class LogReader final : public PokedStream<wire::LogChunk> {
 public:
  static grpc::ServerWriteReactor<wire::LogChunk>* Begin(const JobsDeps& deps, JobReads* reads, const wire::ReadLogsRequest& request);
  ~LogReader() override;

 private:
  LogReader(const JobsDeps& deps, JobReads* reads, const wire::ReadLogsRequest& request) : PokedStream(deps, reads), request_(request) {}
  Result<Pumped> Next(wire::LogChunk* message) override;
  Status Begin();
  Result<Attempt> FirstAttempt();
  Status Enter(Attempt attempt);                 // reads this one from now on
  Result<bool> NextAttempt();                    // false: there is none (yet)
  Result<Pumped> AtTheEnd(wire::LogChunk* message);
  // Whether nothing more will come of the present attempt. Looks at its row again.
  Result<bool> Complete();
  void FillChunk(LogPiece piece, wire::LogChunk* out) const;
  void PokeLater(Millis after);

  const wire::ReadLogsRequest request_;
  bool begun_ = false, end_sent_ = false, all_ = false;
  bool gave_up_ = false;                         // on what the present attempt still owes
  bool loss_told_ = false;                       // of the present attempt
  TaskId task_;
  uint32_t ranks_per_node_ = 1;
  NodeNames names_;
  std::optional<Attempt> attempt_;
  LogSelection selection_;
  LogCursors cursors_;
  std::deque<LogPiece> pieces_;
  std::string notice_;                           // due before the next piece
  uint64_t follower_ = 0;
  Millis ended_seen_ = 0;                        // monotonic: when the attempt was first seen ended with output missing
  std::unique_ptr<grpc::Alarm> alarm_;
};

}  // namespace gt
