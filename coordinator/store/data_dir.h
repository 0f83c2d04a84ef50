// One coordinator a data directory.
#pragma once
#include <string>

#include "common/base/status.h"
#include "common/os/fd.h"

namespace gt {

// Holds <dir>/lock until it is destroyed, also by a crash.
class DataDirLock {
 public:
  // Makes the directory (0700) when it is missing. kFailedPrecondition: "another coordinator holds <dir> (pid N)", a network
  // file system, or a directory that cannot be written.
  static Result<DataDirLock> Take(const std::string& dir);

 private:
  explicit DataDirLock(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace gt
