#include "common/log/log.h"

#include <fcntl.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cerrno>

#include "common/text/text.h"

namespace gt {
namespace {

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

void AppendValue(std::string* line, const std::string& value) {
  std::string shown = Printable(value);
  if (!shown.empty() && shown.find_first_of(" \"=") == std::string::npos) {
    *line += shown;
    return;
  }
  *line += '"';
  for (char c : shown) {
    if (c == '"') *line += '\\';
    *line += c;
  }
  *line += '"';
}

// Made ahead of spdlog, so that the mode is ours and a refusal is a Status with its errno.
Status Touch(const std::string& file) {
  int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
  if (fd < 0) return ErrnoStatus(errno, "log file " + file);
  ::close(fd);
  return OkStatus();
}

}  // namespace

std::string FormatLogLine(std::string_view event, Log::Fields fields) {
  std::string line = Printable(event);
  for (const LogField& field : fields) {
    line += ' ';
    line += field.key;
    line += '=';
    AppendValue(&line, field.value);
  }
  return line;
}

Log::Log(LogLevel level, std::shared_ptr<spdlog::logger> logger) : level_(level), logger_(std::move(logger)) {}
Log::~Log() { logger_->flush(); }

Result<std::unique_ptr<Log>> Log::Open(LogLevel level, const std::string& file) {
  if (!file.empty()) GT_RETURN_IF_ERROR(Touch(file));
  try {
    spdlog::sink_ptr sink;
    if (file.empty())
      sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    else
      sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(file);
    auto logger = std::make_shared<spdlog::logger>("gridtrain", sink);
    logger->set_formatter(
        std::make_unique<spdlog::pattern_formatter>("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc));
    logger->set_level(ToSpdlog(level));
    logger->flush_on(spdlog::level::debug);
    logger->set_error_handler([](const std::string&) {});  // a full disk must not stop or flood the program
    return std::unique_ptr<Log>(new Log(level, std::move(logger)));
  } catch (const std::exception& e) {
    return Status(Code::kInternal, "cannot open the log " + file + ": " + e.what());
  }
}

void Log::Write(LogLevel level, std::string_view event, Fields fields) {
  if (!Enabled(level)) return;
  logger_->log(ToSpdlog(level), spdlog::string_view_t(FormatLogLine(event, fields)));
}

}  // namespace gt
