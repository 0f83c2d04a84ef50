// What the daemons log: one line an event, for grep and for machines.
//   2026-03-01T10:20:30.123Z info task placed job=42 task=42_7 attempt=1 node=gpu-7
// Values with spaces or quotes stand in double quotes; control characters and invalid UTF-8 are escaped, so that no
// line can be forged. Thread-safe; a line is written in one piece. A level that is off costs one comparison.
#pragma once
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/ids.h"
#include "common/base/status.h"

namespace spdlog {
class logger;
}

namespace gt {

enum class LogLevel { kDebug, kInfo, kWarn, kError };  // values equal those of the proto

// A value for one key: anything that prints as text.
struct LogField {
  LogField(std::string_view k, std::string_view v) : key(k), value(v) {}
  LogField(std::string_view k, const char* v) : key(k), value(v) {}
  LogField(std::string_view k, const std::string& v) : key(k), value(v) {}
  template <typename Int>
    requires std::is_integral_v<Int>
  LogField(std::string_view k, Int v) : key(k), value(std::to_string(v)) {}
  LogField(std::string_view k, JobId id) : key(k), value(std::to_string(id.value)) {}
  LogField(std::string_view k, const Uid& uid) : key(k), value(ToHex(uid)) {}
  std::string_view key;
  std::string value;
};

class Log {
 public:
  using Fields = std::initializer_list<LogField>;

  // To the file (appended to, made with mode 0640), or to standard error when `file` is empty.
  static Result<std::unique_ptr<Log>> Open(LogLevel level, const std::string& file);
  ~Log();

  void Debug(std::string_view event, Fields fields = {}) { Write(LogLevel::kDebug, event, fields); }
  void Info(std::string_view event, Fields fields = {}) { Write(LogLevel::kInfo, event, fields); }
  void Warn(std::string_view event, Fields fields = {}) { Write(LogLevel::kWarn, event, fields); }
  void Error(std::string_view event, Fields fields = {}) { Write(LogLevel::kError, event, fields); }
  bool Enabled(LogLevel level) const { return level >= level_; }

 private:
  Log(LogLevel level, std::shared_ptr<spdlog::logger> logger);
  void Write(LogLevel level, std::string_view event, Fields fields);

  LogLevel level_;
  std::shared_ptr<spdlog::logger> logger_;
};

// "event key=value key=\"two words\"", as it follows the level on a line.
std::string FormatLogLine(std::string_view event, Log::Fields fields);

}  // namespace gt
