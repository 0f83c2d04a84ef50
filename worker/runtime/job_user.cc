#include "worker/runtime/job_user.h"

#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

namespace gt::worker {

namespace {

struct Account {
  uid_t uid = 0;
  gid_t gid = 0;
};

Result<Account> FindAccount(const std::string& user) {
  std::vector<char> buffer(16384);
  passwd entry{}, *found = nullptr;
  int error = getpwnam_r(user.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (error) return ErrnoStatus(error, "user " + user);
  if (!found) return Status(Code::kNotFound, "there is no user '" + user + "'");
  return Account{found->pw_uid, found->pw_gid};
}

}  // namespace

Status CheckUser(const std::string& user) { return FindAccount(user).status(); }

Status GiveToUser(const std::string& path, const std::string& user) {
  GT_ASSIGN_OR_RETURN(Account account, FindAccount(user));
  if (lchown(path.c_str(), account.uid, account.gid)) return ErrnoStatus(errno, path);
  return OkStatus();
}

}  // namespace gt::worker
