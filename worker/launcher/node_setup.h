// What every attempt on this node needs to know and nothing changes.
#pragma once
#include <string>

#include "worker/launcher/rank_dir.h"
#include "worker/launcher/users.h"

namespace gt::launcher {

struct NodeSetup {
  std::string boot_id;
  RankDir rank_dir;
  std::string work_dir;    // for attempts that name none
  Status job_user_status;  // not ok: no attempt can be started, and this says why
  JobUser job_user;
};

}  // namespace gt::launcher
