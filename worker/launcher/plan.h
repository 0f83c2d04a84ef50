// From a Start to what is exec'd: command, environment and user of each rank.
//
// The environment is built from nothing (the launcher's own is not inherited), later ones win:
//  1. defaults that the job may override: PATH HOME USER LOGNAME SHELL LANG, OMP_NUM_THREADS=1, PYTHONUNBUFFERED=1,
//     TORCH_NCCL_ASYNC_ERROR_HANDLING=1, TORCHELASTIC_MAX_RESTARTS=0, NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME = the interface
//     of the node's address (lo when all members are here)
//  2. Start.env
//  3. torchrun's names: RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE GROUP_RANK GROUP_WORLD_SIZE ROLE_RANK ROLE_WORLD_SIZE
//     ROLE_NAME MASTER_ADDR MASTER_PORT TORCHELASTIC_RESTART_COUNT TORCHELASTIC_RUN_ID TORCHELASTIC_USE_AGENT_STORE
//     TORCHELASTIC_ERROR_FILE; CUDA_DEVICE_ORDER=PCI_BUS_ID and CUDA_VISIBLE_DEVICES = the GPUs of all ranks of this node in
//     rank order (so that LOCAL_RANK is the device index when each rank has one), empty when there are none
//  4. ours: GT_JOB_ID GT_TASK_INDEX GT_ATTEMPT GT_ATTEMPT_UID GT_GENERATION GT_NODE_ADDRESS GT_SOCKET GT_KEY
// Contract ranks that start before their rendezvous is known have no MASTER_ADDR and MASTER_PORT.
#pragma once
#include <string>

#include "worker/launcher/node_setup.h"
#include "worker/launcher/protocol.h"
#include "worker/launcher/spawn.h"

namespace gt::launcher {

struct Endpoint {
  std::string address;  // empty: not known yet
  uint16_t port = 0;
};

GangPlan MakePlan(const Start& start, Generation generation, const Endpoint& endpoint, const std::string& key,
                  const NodeSetup& setup);

// What is wrong with a Start in itself; ok when it can be tried.
Status CheckStart(const Start& start);

}  // namespace gt::launcher
