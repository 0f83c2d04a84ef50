#include "worker/launcher/rank_dir.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/os/file.h"
#include "worker/launcher/crc32.h"

namespace gt::launcher {

std::string HashOf(const std::string& dir) {
  char real[PATH_MAX];
  std::string path = realpath(dir.c_str(), real) != nullptr ? real : dir;
  char text[9];
  snprintf(text, sizeof text, "%08x", Crc32(path));
  return text;
}

namespace {
// True when `path` is now a directory of ours that nobody else can write to. /tmp is everybody's: never follow a link.
bool OwnDirectory(const std::string& path) {
  struct stat info;
  if (mkdir(path.c_str(), 0711) != 0 && errno != EEXIST) return false;
  if (lstat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != geteuid()) return false;
  return chmod(path.c_str(), 0711) == 0;
}

Status Give(const std::string& path, mode_t mode, const JobUser* user) {
  GT_RETURN_IF_ERROR(MakeDirectories(path, mode));
  if (user != nullptr && user->change && lchown(path.c_str(), user->uid, user->gid) != 0) return ErrnoStatus(errno, path);
  return OkStatus();
}
}  // namespace

Result<RankDir> MakeRankDir(const std::string& wanted, const std::string& dir, const JobUser* user) {
  RankDir result{wanted.empty() ? "/tmp/gt-" + HashOf(dir) : wanted};
  if (!OwnDirectory(result.path)) {
    if (!wanted.empty()) return Status(Code::kPermissionDenied, wanted + ": cannot be made, or belongs to somebody else");
    result.path = "/tmp/gt-XXXXXX";
    result.lasting = false;
    if (mkdtemp(result.path.data()) == nullptr) return ErrnoStatus(errno, "/tmp");
    if (chmod(result.path.c_str(), 0711) != 0) return ErrnoStatus(errno, result.path);
  }
  GT_RETURN_IF_ERROR(MakeDirectories(result.path + "/a", 0711));
  GT_RETURN_IF_ERROR(Give(result.path + "/e", 0700, user));
  GT_RETURN_IF_ERROR(Give(result.work(), 0700, user));
  return result;
}

}  // namespace gt::launcher
