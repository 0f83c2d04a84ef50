// What worker and coordinator tell each other, as plain structs: fields, names and meanings of worker_service.proto.
// worker/runtime/convert.cc translates; the agent and the simulator see only these.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/ids.h"
#include "common/base/time.h"
#include "common/base/vocabulary.h"

namespace gt::worker {

using KeyValues = std::vector<std::pair<std::string, std::string>>;

struct Gpu {
  std::string uuid, model;
  int64_t memory = 0;  // bytes
  bool operator==(const Gpu&) const = default;
};

struct Inventory {
  int32_t cpus = 0;
  int64_t memory = 0;  // bytes
  std::vector<Gpu> gpus;
  std::string address;      // numeric
  KeyValues labels;
  std::string containment;  // as the launcher says
  bool operator==(const Inventory&) const = default;
};

struct Endpoint {
  std::string address;
  uint16_t port = 0;
  bool known() const { return port != 0; }
  bool operator==(const Endpoint&) const = default;
};

struct RankExit {
  uint32_t rank = 0;
  int32_t code = 0;
  int32_t signal = 0;
  bool core_dumped = false;
  Millis started_ms = 0, ended_ms = 0;  // UTC
  uint64_t stdout_bytes = 0, stderr_bytes = 0, lost_bytes = 0;
  std::string tail, message;
  int64_t peak_memory = 0;
};

// Values as in ExitRecord.Why.
enum class ExitWhy : uint8_t {
  kUnknown, kFinished, kRankFailed, kLaunchFailed, kStopped, kTimeLimit, kDisconnected, kNodeRebooted, kExitSkew,
};

struct ExitRecord {
  ExitWhy why = ExitWhy::kUnknown;
  std::string message;
  uint32_t first_failed = 0;
  Millis failed_at_ms = 0;
  bool out_of_memory = false;
  std::vector<RankExit> ranks;
  Millis ended_ms = 0;
};

struct Progress {
  uint64_t step = 0, total_steps = 0, samples = 0;
  std::string phase;
  std::vector<std::pair<std::string, double>> metrics;
};

struct CheckpointNotice {
  uint64_t step = 0;
  std::string path;
  int64_t bytes = 0;
};

// A rank that ended though the others can go on.
struct RankDown {
  Generation born;  // in which its process was started
  RankExit exit;
};

// What ranks that can re-form have said of their group.
struct Formation {
  Generation joined;      // newest that every rank here has joined; 0: none
  bool survives = false;  // a rank lives here that has joined one
  Endpoint store;         // where such a rank listens
  uint64_t step = 0, redone_samples = 0;
  std::vector<RankDown> down;
};

// Absent fields have not changed since the last report of this stream.
struct AttemptReport {
  Uid uid;
  Generation generation;
  std::optional<AttemptPhase> phase;
  std::optional<Endpoint> endpoint;
  std::optional<ExitRecord> exit;
  std::optional<Progress> progress;
  std::optional<CheckpointNotice> checkpoint;
  std::optional<Formation> formation;
  bool unknown = false;
};

struct NodeHello {
  std::string node_name;
  Uid node_uid;
  std::string boot_id;
  uint32_t protocol = kProtocolVersion;
  std::string version;
  Uid session;
  std::string cluster_id;
  Epoch last_epoch;
};

struct NodeReport {
  uint64_t seq = 0;  // 0: a pure acknowledgement or beat
  uint64_t ack = 0;
  std::optional<NodeHello> hello;
  std::optional<Inventory> inventory;
  std::vector<AttemptReport> attempts;
  bool snapshot_begin = false, snapshot_end = false;
  uint64_t beat = 0;  // 0: none
  uint64_t pong = 0;  // 0: none
};

struct Welcome {
  Epoch epoch;
  Millis beat_ms = 2000;
  Millis lease_ms = 30000;
  std::string refused;
  bool try_again = false;
};

struct JobLaunch {
  JobId job_id;
  std::vector<std::string> argv;
  KeyValues env;
  std::string workdir;
  std::string spec_json;
  bool contract = false;
  int32_t processes_per_node = 1;
  int32_t cpus_per_process = 1;
  int64_t memory_limit = 0;
  Millis time_limit_ms = 0, grace_ms = 0, fail_grace_ms = 0, stop_after_ms = 0, reform_timeout_ms = 0;
  std::string checkpoint_dir;
  bool array = false;
  int32_t max_restarts = 0;
  int32_t gpus_per_node = 0;
};

struct AttemptOrder {
  enum class Want : uint8_t { kRun, kStop };
  Uid uid;
  Want want = Want::kRun;
  JobId job_id;
  uint32_t task_index = 0;
  uint32_t number = 1;
  Generation generation;
  uint32_t group_rank = 0;
  uint32_t group_world_size = 1;
  std::vector<std::string> gpu_uuids;
  Endpoint master;  // unknown until rank 0's node has reported it
  bool local_endpoint = false;
  std::string resume_from;
  Millis grace_ms = 0;
  Cause why = Cause::kNone;
  std::vector<Generation> born;  // by local rank; empty: all in the first
};

struct NodeOrders {
  uint64_t seq = 0;
  uint64_t ack = 0;
  std::optional<Welcome> welcome;
  std::vector<JobLaunch> jobs;
  std::vector<AttemptOrder> attempts;
  std::vector<Uid> forget;
  std::vector<JobId> drop_jobs;
  bool snapshot_begin = false, snapshot_end = false;
  uint64_t beat = 0;  // 0: none
  uint64_t ping = 0;  // 0: none
};

// About how many bytes it takes on the wire; never less than it really takes.
size_t WireSize(const AttemptReport& report);
size_t WireSize(const JobLaunch& job);

// Cuts tails and messages until the record fits into `limit` bytes; the rank that failed first keeps most. Codes,
// signals and sizes always stay.
void TrimExit(ExitRecord* record, size_t limit);

}  // namespace gt::worker
