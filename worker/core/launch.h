// What the launcher is told to start: made from a job's launch data, an order and what is known of this node. Pure.
#pragma once
#include <string>
#include <vector>

#include "common/base/status.h"
#include "worker/core/messages.h"

namespace gt::worker {

// Facts of this node that every start needs. Fixed while the worker runs.
struct NodeFacts {
  std::string address;         // numeric, where peers reach the ranks here
  std::string interface;       // owns `address`; empty when none does
  std::string trainer;         // path of gt-trainer, for "{trainer}"
  std::string checkpoint_dir;  // root for jobs that name none
  KeyValues base_env;          // PATH, HOME, LANG: all that a rank inherits of this machine
};

struct LauncherStart {
  Uid uid;
  JobId job_id;
  uint32_t task_index = 0;
  bool array = false;
  uint32_t number = 1;
  Generation generation;
  uint32_t first_rank = 0, world_size = 1;
  uint32_t group_rank = 0, group_world_size = 1;
  std::vector<std::vector<std::string>> rank_gpus;  // one entry a local rank: its own
  std::vector<std::string> argv;                    // "{spec}" is left for the launcher
  KeyValues env;
  std::string workdir, spec_json;
  bool contract = false, local_endpoint = false, hold_port = false;
  std::string node_address;
  int64_t memory_limit = 0;
  Millis time_limit = 0, grace = 0, fail_grace = 0, stop_after = 0, reform_timeout = 0;
  std::string make_dir;  // to be made for the job user before the start; empty: none
};

// kInvalidArgument when the order cannot be started as it stands (no command, too many ranks, an environment that no
// process could be given): the attempt then ends as LAUNCH_FAILED with that message.
Result<LauncherStart> BuildStart(const JobLaunch& job, const AttemptOrder& order, const NodeFacts& facts);

}  // namespace gt::worker
