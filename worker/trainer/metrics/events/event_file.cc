#include "worker/trainer/metrics/events/event_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "common/base/crc32c.h"
#include "worker/trainer/metrics/events/wire.h"

namespace gt::trainer {
namespace {

constexpr int kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7;
constexpr int kValue = 1, kTag = 1, kSimpleValue = 2, kStatus = 1;
constexpr int64_t kStart = 1;

WireMessage Head(double wall_time, int64_t step) {
  WireMessage event;
  event.AddDouble(kWallTime, wall_time);
  event.AddVarint(kStep, static_cast<uint64_t>(step));
  return event;
}

}  // namespace

std::string EncodeVersionEvent(double wall_time) {
  WireMessage event;
  event.AddDouble(kWallTime, wall_time);
  event.AddBytes(kFileVersion, "brain.Event:2");
  return event.bytes();
}

std::string EncodeStartEvent(double wall_time, int64_t step) {
  WireMessage event = Head(wall_time, step), log;
  log.AddVarint(kStatus, kStart);
  event.AddBytes(kSessionLog, log.bytes());
  return event.bytes();
}

std::string EncodeScalarsEvent(double wall_time, int64_t step, const std::map<std::string, double>& scalars) {
  WireMessage event = Head(wall_time, step), summary;
  for (const auto& [tag, number] : scalars) {
    WireMessage value;
    value.AddBytes(kTag, tag);
    value.AddFloat(kSimpleValue, static_cast<float>(number));
    summary.AddBytes(kValue, value.bytes());
  }
  event.AddBytes(kSummary, summary.bytes());
  return event.bytes();
}

std::string EventRecord(const std::string& event) {
  auto masked = [](uint32_t crc) { return (crc >> 15 | crc << 17) + 0xa282ead8u; };
  std::string length = LittleEndian(event.size(), 8);
  return length + LittleEndian(masked(Crc32c(length)), 4) + event +
         LittleEndian(masked(Crc32c(event)), 4);
}

Result<EventFile> EventFile::Create(const std::string& folder, double wall_time, int64_t step) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Status(Code::kInternal, folder + ": " + error.message());
  // Readers sort the files of a folder by name, so the time comes first; the process id tells apart what starts together.
  std::string path = folder + "/events.out.tfevents." + std::to_string(static_cast<int64_t>(wall_time)) +
                     ".gridtrain." + std::to_string(getpid());
  int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return ErrnoStatus(errno, path);
  EventFile file(fd, path);
  GT_RETURN_IF_ERROR(
      file.Write(EventRecord(EncodeVersionEvent(wall_time)) + EventRecord(EncodeStartEvent(wall_time, step))));
  return file;
}

EventFile::EventFile(EventFile&& other) noexcept : fd_(other.fd_), path_(std::move(other.path_)) { other.fd_ = -1; }
EventFile::~EventFile() {
  if (fd_ >= 0) close(fd_);
}

Status EventFile::Add(double wall_time, int64_t step, const std::map<std::string, double>& scalars) {
  return Write(EventRecord(EncodeScalarsEvent(wall_time, step, scalars)));
}

Status EventFile::Write(const std::string& bytes) {
  ssize_t written = write(fd_, bytes.data(), bytes.size());
  if (written == static_cast<ssize_t>(bytes.size())) return OkStatus();
  return written < 0 ? ErrnoStatus(errno, path_) : Status(Code::kResourceExhausted, path_ + ": no space left");
}

}  // namespace gt::trainer
