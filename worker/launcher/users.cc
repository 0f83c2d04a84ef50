#include "worker/launcher/users.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

namespace gt::launcher {

namespace {
JobUser FromEntry(const passwd& entry) {
  JobUser user;
  user.uid = entry.pw_uid;
  user.gid = entry.pw_gid;
  user.name = entry.pw_name;
  user.home = entry.pw_dir;
  user.shell = entry.pw_shell;
  int count = 64;
  user.groups.resize(64);
  if (getgrouplist(entry.pw_name, entry.pw_gid, user.groups.data(), &count) < 0) {
    user.groups.resize(static_cast<size_t>(count));
    getgrouplist(entry.pw_name, entry.pw_gid, user.groups.data(), &count);
  }
  user.groups.resize(static_cast<size_t>(count));
  return user;
}
}  // namespace

Result<JobUser> FindJobUser(const std::string& name, bool allow_root) {
  uid_t self = geteuid();
  std::string wanted = !name.empty() ? name : self == 0 ? "nobody" : "";
  passwd* entry = wanted.empty() ? getpwuid(self) : getpwnam(wanted.c_str());
  if (entry == nullptr && wanted.empty()) {  // a uid without a name, as in some containers
    JobUser user;
    user.uid = self, user.gid = getegid();
    user.name = std::to_string(self), user.home = "/", user.shell = "/bin/sh";
    return user;
  }
  if (entry == nullptr) return Status(Code::kFailedPrecondition, "job user '" + wanted + "' does not exist on this node");
  JobUser user = FromEntry(*entry);
  if (user.uid == 0 && !allow_root) {
    return Status(Code::kFailedPrecondition,
                  "jobs may not run as root here: set job_user to another user, or allow_root_jobs");
  }
  if (self != 0 && user.uid != self) {
    return Status(Code::kFailedPrecondition, "only a launcher that is root can run jobs as '" + wanted + "'");
  }
  user.change = user.uid != self;
  return user;
}

}  // namespace gt::launcher
