// What the agent knows of one attempt on this node, and which parts of it the coordinator has not been told yet.
#pragma once
#include <memory>

#include "worker/core/launch.h"
#include "worker/core/messages.h"

namespace gt::worker {

// Parts of an attempt that are reported on their own.
enum Part : uint8_t {
  kPartPhase = 1,
  kPartEndpoint = 2,
  kPartExit = 4,
  kPartProgress = 8,
  kPartCheckpoint = 16,
  kPartUnknown = 32,
  kPartFormation = 64,
  kAllParts = 127,
};

struct StopWish {
  Millis grace = 0;
  Cause why = Cause::kNone;  // kNone: the coordinator does not know this attempt
};

struct Attempt {
  Uid uid;
  Generation generation;               // as the launcher last said; the ordered one before that
  std::optional<AttemptOrder> order;   // absent: adopted from the launcher and not named by the coordinator yet
  std::shared_ptr<const JobLaunch> job;
  std::optional<StopWish> stop;        // final: a stopped attempt is never run again
  bool journalled = false;             // the launcher has it, whatever happens to us
  bool started = false;                // Start has been given to the present launcher connection
  bool awaited = false;                // the orders in hand are acknowledged once the launcher has answered for this
  Generation gone;                     // the newest whose rendezvous was passed on over the present connection

  AttemptPhase phase = AttemptPhase::kPlaced;
  Endpoint endpoint;
  std::optional<ExitRecord> exit;
  std::optional<Progress> progress;
  std::optional<CheckpointNotice> checkpoint;
  std::optional<Formation> formation;
  bool unknown = false;                // never heard of here: leaves the table once the coordinator knows

  uint8_t dirty = 0;                   // parts that changed since they were last put into a report
  bool in_urgent = false, in_lazy = false;

  bool ended() const { return exit.has_value() || unknown; }
};

// The given parts as far as they have a value.
AttemptReport ToReport(const Attempt& attempt, uint8_t parts);

}  // namespace gt::worker
