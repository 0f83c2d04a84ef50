// DIR/launcher.log: one line per event, UTC, at most 8 MiB and one older file beside it. The disk thread's.
#pragma once
#include <string>

#include "common/base/status.h"
#include "common/base/time.h"
#include "common/os/fd.h"

namespace gt::launcher {

class LauncherLog {
 public:
  static constexpr int64_t kMaxBytes = 8 << 20;
  explicit LauncherLog(std::string path) : path_(std::move(path)) {}
  Status Open();
  // Never fails: without space a line is lost.
  void Write(const std::string& line, Millis wall);
  void Flush();

 private:
  std::string path_;
  Fd file_;
  int64_t size_ = 0;
  std::string buffer_;
};

}  // namespace gt::launcher
