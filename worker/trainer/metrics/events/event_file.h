// TensorBoard's event files. Format: records of u64 length, masked crc32c of those 8 bytes, data, masked crc32c of the data
// (all little-endian; TFRecord), each the protobuf message tensorflow.Event: 1 wall_time (double), 2 step (int64),
// 3 file_version (string) in the first record, 5 summary { repeated 1 value { 1 tag (string), 2 simple_value (float) } },
// 7 session_log { 1 status } where a run starts: TensorBoard then forgets what an earlier file said of later steps.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "common/base/status.h"

namespace gt::trainer {

// One record around the bytes of an Event.
std::string EventRecord(const std::string& event);
std::string EncodeVersionEvent(double wall_time);
std::string EncodeStartEvent(double wall_time, int64_t step);
std::string EncodeScalarsEvent(double wall_time, int64_t step, const std::map<std::string, double>& scalars);

// An open file, for one thread. Unbuffered: what was added is in the file.
class EventFile {
 public:
  // A new file in `folder`, which is made; `step` is where the run starts or goes on.
  static Result<EventFile> Create(const std::string& folder, double wall_time, int64_t step);
  EventFile(EventFile&& other) noexcept;
  EventFile& operator=(EventFile&&) = delete;
  ~EventFile();

  Status Add(double wall_time, int64_t step, const std::map<std::string, double>& scalars);
  const std::string& path() const { return path_; }

 private:
  EventFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  Status Write(const std::string& bytes);
  int fd_;
  std::string path_;
};

}  // namespace gt::trainer
