// What a node should do: the plain form of NodeOrders. Built from the state, so it may be built again at any time.
#pragma once
#include <string>
#include <vector>

#include "coordinator/core/model.h"

namespace gt {

struct AttemptOrder {
  Uid uid;
  bool stop = false;
  // run
  JobId job;
  uint32_t task_index = 0, number = 0;
  Generation generation;
  uint32_t group_rank = 0, group_world_size = 1;
  std::vector<std::string> gpu_uuids;
  std::string master_addr;         // empty: not known yet
  uint16_t master_port = 0;
  bool local_endpoint = false;
  std::string resume_from;
  std::vector<Generation> born;    // by local rank; empty: all in the first
  // stop
  Millis grace = 0;
  Cause why = Cause::kNone;
};

struct Orders {
  uint64_t session = 0;
  uint64_t seq = 0;                // 0: nothing but an acknowledgement
  uint64_t ack = 0;                // reports up to here are on disk
  bool snapshot_begin = false, snapshot_end = false;
  std::vector<JobId> jobs;         // launch data to send along, each once a session
  std::vector<AttemptOrder> attempts;
  std::vector<Uid> forget;
  std::vector<JobId> drop_jobs;    // launch data that the node may let go
};

}  // namespace gt
