// What worker and gt-launcher say to each other over DIR/launcher.sock (a unix stream socket; same uid or root on both sides).
//
// A frame is u32 length (of what follows), u8 type, then the fields of the struct in order (wire.h). Longer payloads than
// known are read as far as known, unknown types are skipped: so a field may be added at an end without a new version.
//
// Conversation: the worker says Hello. The launcher answers HelloReply, then one State per attempt that it remembers (and
// the last RankSaid of each kind, and SpoolAdvance), then SnapshotEnd; after that a State at each change. Nothing
// else is promised in between: both sides may send many frames per write. Everything is level-triggered and may be repeated:
//  - Start of a uid that the launcher knows is answered with its State and never starts anything again;
//  - Go, Stop, RearmStopAfter of a uid that it does not know are answered with State{phase = kUnknown};
//  - an ENDED attempt is remembered, over restarts of both sides, until Forget.
// A launcher without a worker carries on: it holds time limits, stop_after and the output of the ranks by itself.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/base/time.h"
#include "worker/launcher/wire.h"

namespace gt::launcher {

constexpr uint32_t kLauncherProtocol = 1;
constexpr size_t kMaxFrame = 16u << 20;

enum class MessageType : uint8_t {
  kHello = 1, kStart, kGo, kStop, kForget, kRearmStopAfter, kSpoolAck, kTellRanks,
  kHelloReply = 64, kState, kSnapshotEnd, kRankSaid, kSpoolAdvance,
};

// ---- worker -> launcher ----

struct Hello {
  static constexpr MessageType kType = MessageType::kHello;
  uint32_t version = kLauncherProtocol;
  template <typename A> void Fields(A& a) { a(version); }
};

struct RankSpec {
  std::vector<std::string> gpus;  // UUIDs, as CUDA_VISIBLE_DEVICES takes them
  template <typename A> void Fields(A& a) { a(gpus); }
};

// Start an attempt on this node. See plan.h for the environment that the ranks get.
struct Start {
  static constexpr MessageType kType = MessageType::kStart;
  Uid uid;
  JobId job_id;
  uint32_t task_index = 0;
  bool array = false;
  uint32_t attempt_no = 1;
  Generation generation{1};
  uint32_t first_rank = 0;        // global rank of local rank 0
  uint32_t world_size = 1;        // ranks on all nodes
  uint32_t group_rank = 0;        // this node among the nodes of the attempt
  uint32_t group_world_size = 1;
  std::vector<RankSpec> ranks;    // one per local rank, 1..1024
  std::vector<std::string> argv;  // "{spec}" in it becomes the path of the spec file
  std::vector<std::pair<std::string, std::string>> env;
  std::string workdir;            // empty: the launcher's own work directory
  std::string spec_json;          // non-empty: written to a file that only the job user can read
  bool contract = false;          // ranks start at once and get `rendezvous` over GT_SOCKET; false: a torchrun style script
  bool local_endpoint = false;    // all members are on this node: address and port are chosen here, no Go is needed
  bool hold_port = false;         // script, several nodes, rank 0 is here: bind a port, say PREPARED, keep it until Go
  std::string node_address;       // numeric
  int64_t memory_limit = 0;       // bytes for all ranks of this node together, 0: none
  Millis time_limit = 0;          // counted from the start of the ranks, 0: none
  Millis grace = 30'000;          // for the time limit and stop_after; Stop brings its own
  Millis fail_grace = 300;        // between SIGTERM and SIGKILL once a rank has failed
  Millis stop_after = 0;          // 0: none; else stop when that long passes without RearmStopAfter
  Millis reform_timeout = 0;      // contract: how long a dead rank may wait for a Go that starts it again; 0: its death ends all
  template <typename A> void Fields(A& a) {
    a(uid, job_id, task_index, array, attempt_no, generation, first_rank, world_size, group_rank, group_world_size, ranks,
      argv, env, workdir, spec_json, contract, local_endpoint, hold_port, node_address, memory_limit, time_limit, grace,
      fail_grace, stop_after, reform_timeout);
  }
};

// The rendezvous is READY. Scripts: start the ranks with it. Contract ranks: they are told (at their hello if they come
// later). An older generation than one already seen is ignored.
struct Go {
  static constexpr MessageType kType = MessageType::kGo;
  Uid uid;
  Generation generation;
  std::string master_addr;  // numeric
  uint16_t master_port = 0;
  // Zero world_size: as in Start. Else the membership of this generation (contract ranks only).
  uint32_t first_rank = 0;
  uint32_t world_size = 0;
  // By local rank, empty: as they are. A rank that is down (Formation) and was born in an earlier generation than this is
  // started again.
  std::vector<Generation> born;
  template <typename A> void Fields(A& a) { a(uid, generation, master_addr, master_port, first_rank, world_size, born); }
};

enum class StopWhy : uint8_t { kNone, kCancel, kPreempt, kFail, kTimeLimit, kStale, kStopAfter };

// SIGTERM now, SIGKILL after `grace`. A repeated Stop may shorten the grace, never lengthen it. An attempt whose ranks have
// not started ends at once.
struct Stop {
  static constexpr MessageType kType = MessageType::kStop;
  Uid uid;
  Millis grace = 0;
  StopWhy why = StopWhy::kCancel;
  template <typename A> void Fields(A& a) { a(uid, grace, why); }
};

// The exit record is safe elsewhere and the attempt is no longer wanted. Ignored while it is not ENDED.
struct Forget {
  static constexpr MessageType kType = MessageType::kForget;
  Uid uid;
  template <typename A> void Fields(A& a) { a(uid); }
};

// Moves the stop_after deadline to `remaining` from now. Only for attempts that were started with one.
struct RearmStopAfter {
  static constexpr MessageType kType = MessageType::kRearmStopAfter;
  Uid uid;
  Millis remaining = 0;
  template <typename A> void Fields(A& a) { a(uid, remaining); }
};

// Everything below `offset` is safe elsewhere; whole segments below it are deleted.
struct SpoolAck {
  static constexpr MessageType kType = MessageType::kSpoolAck;
  uint64_t offset = 0;
  template <typename A> void Fields(A& a) { a(offset); }
};

constexpr uint32_t kAllRanks = UINT32_MAX;

// One JSON object of the rank contract, without newline, for a rank of this node (local rank) or all that are connected.
struct TellRanks {
  static constexpr MessageType kType = MessageType::kTellRanks;
  Uid uid;
  uint32_t local_rank = kAllRanks;
  std::string line;
  template <typename A> void Fields(A& a) { a(uid, local_rank, line); }
};

// ---- launcher -> worker ----

struct HelloReply {
  static constexpr MessageType kType = MessageType::kHelloReply;
  uint32_t version = kLauncherProtocol;
  Uid instance;             // new at each start of a launcher
  std::string boot_id;
  std::string containment;  // "cgroup", "keeper", with "+memory" when memory_limit is enforced
  std::string spool_dir;    // where SpoolReader finds the segments
  template <typename A> void Fields(A& a) { a(version, instance, boot_id, containment, spool_dir); }
};

enum class Phase : uint8_t {
  kUnknown,   // no such attempt here
  kStarting,  // taken, in the journal; ranks not started yet (a multi-node script waits for Go)
  kPrepared,  // as kStarting, and prepared_port is held for rank 0
  kRunning,   // every rank has been exec'd
  kStopping,  // told to stop, or a rank failed, or ranks are gone and the rest is being killed
  kEnded,     // verified: nothing of it lives; `exit` is set and on disk
};
const char* Name(Phase phase);

enum class EndWhy : uint8_t {
  kCompleted,      // every rank exited 0 by itself
  kRankFailed,     // first_failed names the rank
  kStopped,        // on request: stop_why
  kTimeLimit,
  kStopAfter,
  kLaunchFailed,   // `message` says what and why; ranks may be empty
  kLauncherLost,   // exit unknown (launcher restarted, or keeper killed)
  kNodeRebooted,   // exit unknown
};
const char* Name(EndWhy why);

// The code of a rank whose program or work directory is not there, as a shell answers.
constexpr int32_t kExitCannotRun = 127;

struct RankExit {
  uint32_t rank = 0;        // global
  int32_t pid = 0;          // 0: never started
  int32_t code = -1;        // exit code; -1 when signalled, unknown or never started
  int32_t signal = 0;
  bool core = false;
  Millis started = 0, ended = 0;           // wall clock
  int64_t stdout_bytes = 0, stderr_bytes = 0;  // kept in the spool (notices count); -1: unknown
  int64_t lost_bytes = 0;   // printed but not kept (cap or no space)
  std::string tail;         // last 4 KiB of stderr, or of stdout when stderr is empty
  std::string message;      // of the contract's `failure`, or of torchrun's error.json
  template <typename A> void Fields(A& a) {
    a(rank, pid, code, signal, core, started, ended, stdout_bytes, stderr_bytes, lost_bytes, tail, message);
  }
};

// A rank that has ended and waits for a Go that starts it again.
struct RankDown {
  Generation born;          // in which its process was started
  RankExit exit;            // tail and message cut to 1 KiB each
  template <typename A> void Fields(A& a) { a(born, exit); }
};

// Contract ranks that have said `joined` with can_reform. Once every rank here has said so, one that fails does not end the
// others: it is down, until a Go starts it again or reform_timeout has passed.
struct Formation {
  Generation joined;        // newest that every rank here has joined; 0: none
  bool survives = false;    // a rank lives here that has joined one
  std::string store_addr;   // where such a rank listens
  uint16_t store_port = 0;
  uint64_t step = 0, redone_samples = 0;  // the largest that ranks said with `joined`
  std::vector<RankDown> down;
  template <typename A> void Fields(A& a) { a(joined, survives, store_addr, store_port, step, redone_samples, down); }
};

constexpr uint32_t kNoRank = UINT32_MAX;

struct ExitRecord {
  Uid uid;
  Generation generation;          // the last one seen
  EndWhy why = EndWhy::kCompleted;
  StopWhy stop_why = StopWhy::kNone;
  std::string message;            // one line for people, always set unless completed
  uint32_t first_failed = kNoRank;  // global rank of the first failure in arrival order
  Millis first_failure = 0;       // wall clock, 0: none
  bool oom = false;               // the kernel killed something of it for memory (cgroup evidence)
  int64_t peak_memory = 0;        // bytes; of the memory cgroup, else the sum of the ranks' largest resident sizes; 0: unknown
  std::vector<RankExit> ranks;
  Millis ended = 0;               // wall clock
  template <typename A> void Fields(A& a) {
    a(uid, generation, why, stop_why, message, first_failed, first_failure, oom, peak_memory, ranks, ended);
  }
};

struct State {
  static constexpr MessageType kType = MessageType::kState;
  Uid uid;
  Generation generation;
  Phase phase = Phase::kUnknown;
  std::string hello_address;   // contract: where local rank 0 said that it listens
  uint16_t hello_port = 0;
  uint16_t prepared_port = 0;  // kPrepared
  StopWhy stopping = StopWhy::kNone;  // kStopping
  ExitRecord exit;             // meaningful when kEnded
  bool forms = false;          // `formation` says something
  Formation formation;
  template <typename A> void Fields(A& a) {
    a(uid, generation, phase, hello_address, hello_port, prepared_port, stopping, exit, forms, formation);
  }
};

struct SnapshotEnd {
  static constexpr MessageType kType = MessageType::kSnapshotEnd;
  template <typename A> void Fields(A&) {}
};

// A line of the rank contract, as the rank wrote it (a JSON object with "type"): progress, checkpoint, joined, lost, finished,
// failure, diagnosis. After a reconnect the last one of each type and rank is repeated.
struct RankSaid {
  static constexpr MessageType kType = MessageType::kRankSaid;
  Uid uid;
  uint32_t rank = 0;  // global, as given in Start
  std::string line;
  template <typename A> void Fields(A& a) { a(uid, rank, line); }
};

// Frames below `end` are in the segment files. Sent when it grows, at most a few times a second while output flows, and
// always before the State that brings an exit record whose output it covers.
struct SpoolAdvance {
  static constexpr MessageType kType = MessageType::kSpoolAdvance;
  uint64_t end = 0;
  template <typename A> void Fields(A& a) { a(end); }
};

// ---- frames ----

using Message = std::variant<Hello, Start, Go, Stop, Forget, RearmStopAfter, SpoolAck, TellRanks, HelloReply, State,
                             SnapshotEnd, RankSaid, SpoolAdvance>;

// Appends one frame to *out.
template <typename T>
void AppendFrame(const T& message, std::string* out) {
  size_t start = out->size();
  Writer write(out);
  write(uint32_t{0}, T::kType, message);
  auto length = static_cast<uint32_t>(out->size() - start - sizeof(uint32_t));
  std::memcpy(out->data() + start, &length, sizeof length);
}

// Cuts a byte stream into messages. After an error the stream cannot be trusted any more: close the connection.
class FrameParser {
 public:
  void Append(std::string_view bytes) { buffer_.append(bytes); }
  // The next whole message; nullopt when more bytes are needed. Unknown types are skipped.
  Result<std::optional<Message>> Next();

 private:
  std::string buffer_;
  size_t at_ = 0;
};

}  // namespace gt::launcher
