// What the world asks or reports. Everything in here may be wrong, late, repeated or hostile: Decide validates.
#pragma once
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/base/status.h"
#include "coordinator/core/model.h"

namespace gt {

// --- from gtctl ---------------------------------------------------------------------------------------------------
struct SubmitJob {
  Job draft;                       // id unset; immutable fields filled in by convert
  bool dry_run = false;
};
struct CancelTarget { JobId job; std::optional<uint32_t> index; };
struct Cancel {
  std::vector<CancelTarget> targets;
  std::string reason, actor;
};
struct SetDrain { std::string node; bool drain = true; std::string reason, actor; };

// --- from workers -------------------------------------------------------------------------------------------------
// A stream opened and said who it is. `session` names the stream on this side.
struct NodeHello {
  uint64_t session = 0;
  std::string name;
  Uid uid;
  std::string boot_id, version;
  std::string cluster_id;          // must be ours
  Epoch last_epoch;                // must not be above ours
  Inventory inventory;
};
struct NodeGone { uint64_t session = 0; };  // the stream ended

// How an attempt ended on a node, as far as decisions need it; `record` is the whole, opaque.
struct ExitReport {
  enum class Why : uint8_t { kUnknown, kFinished, kRankFailed, kLaunchFailed, kStopped, kTimeLimit, kDisconnected, kNodeRebooted, kExitSkew };
  Why why = Why::kUnknown;
  std::string message;
  int32_t first_failed = -1;       // rank
  int32_t code = 0, signal = 0;    // of that rank
  std::string tail;
  bool out_of_memory = false;
  int32_t exit_code = -1;          // highest over the ranks, 128 + signal
  std::string record;
};
struct AttemptReport {
  Uid uid;
  Generation generation;
  AttemptPhase phase = AttemptPhase::kPlaced;
  std::string endpoint_addr;       // empty: none
  uint16_t endpoint_port = 0;
  std::optional<ExitReport> exit;  // with kEnded
  std::optional<Progress> progress;
  std::string checkpoint;          // empty: none
  uint64_t checkpoint_step = 0;
  std::optional<Formation> formation;
  bool unknown = false;            // asked about, never heard of there
};
struct NodeReport {
  uint64_t session = 0;
  uint64_t seq = 0;                // 0: not to be acknowledged
  uint64_t ack = 0;                // our orders up to here are done
  bool snapshot_begin = false, snapshot_end = false;
  std::optional<Inventory> inventory;
  std::vector<AttemptReport> attempts;
};

using Command = std::variant<SubmitJob, Cancel, SetDrain, NodeHello, NodeGone, NodeReport>;

// --- answers ------------------------------------------------------------------------------------------------------
struct SubmitReply { JobId job; bool duplicate = false; std::vector<std::string> problems, warnings; };
struct CancelReply {
  enum class Outcome : uint8_t { kAccepted, kNotLive };  // kNotLive: finished or never there; the store knows which
  std::vector<Outcome> outcomes;
};
struct DrainReply { Status status; NodeId node; };
struct HelloReply { NodeId node; std::string refused; uint64_t replaces = 0; };  // session to end
using Reply = std::variant<std::monostate, SubmitReply, CancelReply, DrainReply, HelloReply>;

}  // namespace gt
