#include "worker/launcher/launcher_log.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "common/os/file.h"

namespace gt::launcher {

Status LauncherLog::Open() {
  GT_ASSIGN_OR_RETURN(file_, OpenFile(path_, O_WRONLY | O_CREAT | O_APPEND, 0600));
  struct stat info;
  size_ = fstat(file_.get(), &info) == 0 ? info.st_size : 0;
  return OkStatus();
}

void LauncherLog::Write(const std::string& line, Millis wall) {
  time_t seconds = wall / 1000;
  tm utc{};
  gmtime_r(&seconds, &utc);
  char stamp[40];
  size_t used = strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &utc);
  snprintf(stamp + used, sizeof stamp - used, ".%03dZ ", static_cast<int>(wall % 1000));
  buffer_ += stamp;
  for (char c : line) buffer_ += c == '\n' ? ' ' : c;
  buffer_ += '\n';
}

void LauncherLog::Flush() {
  if (buffer_.empty()) return;
  if (size_ > kMaxBytes && rename(path_.c_str(), (path_ + ".1").c_str()) == 0) Open().ok();
  if (WriteAll(file_.get(), buffer_).ok()) size_ += static_cast<int64_t>(buffer_.size());
  buffer_.clear();
}

}  // namespace gt::launcher
