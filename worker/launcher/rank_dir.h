// The directory that ranks may reach although DIR is 0700: <rank dir> (0711) with
//   s           the rank socket (GT_SOCKET); a short path, since sockaddr_un is short
//   a/UID.json  spec files, each readable by the job user only
//   e/          error files as torchrun's @record writes them; belongs to the job user
//   work/       the default work directory; belongs to the job user
#pragma once
#include <string>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "worker/launcher/users.h"

namespace gt::launcher {

struct RankDir {
  std::string path;
  bool lasting = true;  // the next launcher of this directory will have the same
  std::string socket() const { return path + "/s"; }
  std::string spec(const Uid& uid) const { return path + "/a/" + ToHex(uid) + ".json"; }
  std::string error_file(const Uid& uid, uint32_t local_rank) const {
    return path + "/e/" + ToHex(uid) + "." + std::to_string(local_rank) + ".json";
  }
  std::string work() const { return path + "/work"; }
};

// Makes it. `wanted` empty: /tmp/gt-<hash of dir>, or another name there when somebody else owns that one.
Result<RankDir> MakeRankDir(const std::string& wanted, const std::string& dir, const JobUser* user);

// 8 hex digits that tell one launcher directory from another.
std::string HashOf(const std::string& dir);

}  // namespace gt::launcher
