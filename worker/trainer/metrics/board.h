// TensorBoard for one rank (rank 0): a scalar per metric, at most one point of each in a second, and whatever an
// evaluation says.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "worker/trainer/metrics/events/event_file.h"
#include "worker/trainer/metrics/meter.h"

namespace gt::trainer {

// For one thread. A file that cannot be written is said once on stderr and then left alone: training goes on.
class Board {
 public:
  // Empty `folder`: nothing is written.
  explicit Board(std::string folder) : folder_(std::move(folder)) {}
  // Whether a point of the curves is due now.
  bool Due(Millis now) { return !folder_.empty() && limit_.Due(now); }
  void Add(int64_t step, const std::map<std::string, double>& scalars);

 private:
  std::string folder_;
  RateLimit limit_{1000};
  std::optional<EventFile> file_;
};

// The folder of one task inside what the job named: tasks of an array have curves of their own, attempts of one task
// share them. `get` answers like getenv, with an empty string for what is not set.
std::string BoardFolder(const std::string& folder, const std::function<std::string(const char*)>& get);

}  // namespace gt::trainer
