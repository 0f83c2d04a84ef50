#include "coordinator/store/data_dir.h"

#include <fcntl.h>
#include <unistd.h>

#include "common/os/file.h"

namespace gt {

Result<DataDirLock> DataDirLock::Take(const std::string& dir) {
  GT_RETURN_IF_ERROR(MakeDirectories(dir, 0700).WithContext("data directory"));
  GT_ASSIGN_OR_RETURN(bool network, OnNetworkFileSystem(dir));
  if (network) {
    return Status(Code::kFailedPrecondition,
                  dir + " is on a network file system, where locks and fsync cannot be trusted: choose a local directory");
  }
  if (access(dir.c_str(), W_OK | X_OK) != 0) {
    return Status(Code::kFailedPrecondition, "cannot write to " + dir + ": " + ErrnoStatus(errno, "access").message());
  }
  std::string path = dir + "/lock";
  Result<Fd> lock = LockFile(path);
  if (!lock.ok() && lock.status().code() == Code::kFailedPrecondition) {
    Result<std::string> holder = ReadFile(path, 64);
    std::string pid = holder.ok() ? *holder : "";
    return Status(Code::kFailedPrecondition,
                  "another coordinator holds " + dir + (pid.empty() ? "" : " (pid " + pid + ")"));
  }
  if (!lock.ok()) return lock.status();
  if (ftruncate(lock->get(), 0) != 0) return ErrnoStatus(errno, path);
  GT_RETURN_IF_ERROR(WriteAllAt(lock->get(), std::to_string(getpid()), 0).WithContext(path));
  return DataDirLock(std::move(*lock));
}

}  // namespace gt
