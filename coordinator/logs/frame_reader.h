// Goes through an attempt's frames in order of arrival: those in segments, then its own file. Works on a snapshot, without
// locks; a file that was deleted meanwhile ends it. Internal to this room.
#pragma once
#include <string>
#include <vector>

#include "common/os/fd.h"
#include "coordinator/logs/attempt_log.h"

namespace gt::logs {

// Where to start, and how far there is something.
struct ReadPlan {
  std::vector<SmallRef> small;
  std::string own_path;
  int64_t own_from = 0, own_bytes = 0;
};

// From the last point before which nothing is wanted: no selected stream has bytes there that its cursor has not passed.
ReadPlan PlanRead(const AttemptLog& log, const LogSelection& selection, const LogCursors& cursors);

class FrameReader {
 public:
  explicit FrameReader(ReadPlan plan) : plan_(std::move(plan)), own_at_(plan_.own_from) {}

  // False at the end. A damaged frame in a segment is skipped; in the own file it ends the reading with kDataLoss.
  Result<bool> Next(Frame* frame, std::string* data);
  int64_t own_position() const { return own_at_; }

 private:
  Result<bool> NextSmall(Frame* frame, std::string* data);
  Result<bool> NextOwn(Frame* frame, std::string* data);

  ReadPlan plan_;
  size_t small_at_ = 0;
  std::string small_path_;
  Fd small_fd_, own_fd_;
  int64_t own_at_;
  std::string buffer_;        // bytes of the own file from buffer_at_ on
  int64_t buffer_at_ = 0;
};

}  // namespace gt::logs
