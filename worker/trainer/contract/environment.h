// What a rank is told by its environment: the names of torchrun, then ours (design: rank contract).
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "common/base/status.h"

namespace gt::trainer {

struct Environment {
  // As under torchrun. world_size is 0 when the environment names none: a single process, or a rank that will learn its
  // number from the launcher.
  int rank = 0;
  int world_size = 0;
  int local_rank = 0;
  std::string master_addr;
  int master_port = 0;
  bool agent_store = false;  // TORCHELASTIC_USE_AGENT_STORE: someone else serves MASTER_PORT, rank 0 too is a client
  int restart_count = 0;
  std::string run_id;

  // Ours.
  std::string socket;        // GT_SOCKET: the launcher; empty: there is none
  std::string key;           // GT_KEY
  std::string node_address = "127.0.0.1";  // GT_NODE_ADDRESS: numeric, what this rank listens on
  bool node_address_given = false;
  std::string attempt_uid;   // GT_ATTEMPT_UID; without it the run id, or "local"
  uint32_t generation = 0;   // GT_GENERATION
  std::string checkpoint_dir;  // GT_CHECKPOINT_DIR; empty: no checkpoints
  std::string resume_from;     // GT_RESUME_FROM; empty: start from nothing
  std::string collective;      // GT_COLLECTIVE: "gloo", "shm" or empty (choose)
  bool wants_gpu = false;      // GT_GPUS > 0, or CUDA_VISIBLE_DEVICES names one while GT_GPUS is not set
  bool threads_given = false;  // OMP_NUM_THREADS
};

// `get` answers like getenv, with an empty string for what is not set.
Result<Environment> ReadEnvironment(const std::function<std::string(const char*)>& get);
Result<Environment> ReadProcessEnvironment();

}  // namespace gt::trainer
