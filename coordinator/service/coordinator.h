// The coordinator as one object: takes the data directory, loads, listens, serves, stops. main.cc and tests in one process
// use it.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "common/base/status.h"
#include "common/log/log.h"
#include "coordinator/core/policy.h"

namespace gt {

struct CoordinatorOptions {
  std::string data_dir;
  std::string listen;                // "127.0.0.1:7411"; port 0: a free one
  Policy policy;
  int64_t disk_low = 0, disk_min = 0;
  Millis log_retention = 0, history_retention = 0;  // 0: for ever
  std::string version;
  // Something is broken for good (a failed commit, a damaged database). The process must end; must not return.
  std::function<void(const Status&)> fatal;
};

class Coordinator {
 public:
  // Everything or nothing: on failure no port is open and no call was served. In order: data directory and lock, address,
  // database, access file, listening.
  static Result<std::unique_ptr<Coordinator>> Start(CoordinatorOptions options, Log* log);
  // Streams are told, waiting requests answered; within two seconds.
  ~Coordinator();

  const std::string& address() const;  // with the real port
  const std::string& cluster_id() const;
  uint64_t epoch() const;

 private:
  struct Parts;
  explicit Coordinator(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace gt
