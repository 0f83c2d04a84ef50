// What the coordinator still has to be told: changed attempts, each once however often it changed, and on a new stream
// the complete list, in parts. Work per report is proportional to what is in it.
#pragma once
#include <deque>
#include <map>
#include <vector>

#include "worker/core/attempt.h"

namespace gt::worker {

using AttemptMap = std::map<Uid, Attempt>;

class Outbox {
 public:
  Outbox(AttemptMap* attempts, size_t part_bytes, Millis lazy_every)
      : attempts_(attempts), part_bytes_(part_bytes), lazy_every_(lazy_every) {}

  // `parts` of the attempt changed. Progress and checkpoints wait up to lazy_every for company; the rest goes at once.
  void Mark(Attempt* attempt, uint8_t parts);

  // A new stream: forget what was under way. Nothing is sent until StartSnapshot.
  void Reset();
  // Everything that is held, then changes.
  void StartSnapshot();
  bool snapshot_started() const { return snapshot_started_; }

  // Puts what is due into `report`; true when there was anything. Not while an earlier one is unacknowledged.
  bool Fill(NodeReport* report, Now now);
  // The coordinator has what the last Fill gave on disk.
  void Acknowledged();
  // When the next Fill would have something; kNever when nothing waits.
  Millis Due() const;

 private:
  // false: it does not fit any more and stays where it was.
  bool Add(Attempt* attempt, uint8_t parts, NodeReport* report, size_t* size);
  bool FillSnapshot(NodeReport* report);
  bool Drain(std::deque<Uid>* queue, bool Attempt::*queued, NodeReport* report, size_t* size);

  AttemptMap* attempts_;
  size_t part_bytes_;
  Millis lazy_every_;
  std::deque<Uid> urgent_, lazy_, snapshot_;
  std::vector<Uid> told_unknown_;  // in the report under way: these leave the table with its acknowledgement
  bool snapshot_started_ = false, in_snapshot_ = false, begin_sent_ = false;
  Millis lazy_due_ = 0;
};

}  // namespace gt::worker
