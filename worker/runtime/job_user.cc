#include "worker/runtime/job_user.h"

#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

namespace gt::worker {

Status GiveToUser(const std::string& path, const std::string& user) {
  std::vector<char> buffer(16384);
  passwd entry{}, *found = nullptr;
  int error = getpwnam_r(user.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (error) return ErrnoStatus(error, "user " + user);
  if (!found) return Status(Code::kNotFound, "there is no user '" + user + "'");
  if (lchown(path.c_str(), found->pw_uid, found->pw_gid)) return ErrnoStatus(errno, path);
  return OkStatus();
}

}  // namespace gt::worker
