// Who ranks run as.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "common/base/status.h"

namespace gt::launcher {

struct JobUser {
  bool change = false;  // we are root and become somebody else
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;
  std::string name, home, shell;
};

// Not root: ourselves (any other `name` is an error). Root: `name` ("" = nobody); uid 0 only with allow_root. The message of
// an error is what the user of a job reads.
Result<JobUser> FindJobUser(const std::string& name, bool allow_root);

}  // namespace gt::launcher
