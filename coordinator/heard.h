// When each session was last heard, stamped by the thread that received it: never behind the loop, the disk or a lock.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "coordinator/core/engine.h"

namespace gt {

struct HeardCell {
  explicit HeardCell(uint64_t id) : session(id) {}
  const uint64_t session;
  std::atomic<Millis> at{0};  // monotonic; 0: not yet
  Millis told = 0;            // the loop's own
};

class HeardBoard {
 public:
  // The session stamps its cell for as long as it lives; a cell that nobody else holds is dropped.
  std::shared_ptr<HeardCell> Add(uint64_t session) {
    auto cell = std::make_shared<HeardCell>(session);
    std::lock_guard lock(mutex_);
    cells_.push_back(cell);
    return cell;
  }
  // What is new since the last call. One thread only.
  std::vector<Heard> Gather() {
    std::vector<Heard> heard;
    std::lock_guard lock(mutex_);
    std::erase_if(cells_, [&](const std::shared_ptr<HeardCell>& cell) {
      Millis at = cell->at.load(std::memory_order_relaxed);
      if (at > cell->told) heard.push_back({cell->session, cell->told = at});
      return cell.use_count() == 1;
    });
    return heard;
  }

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<HeardCell>> cells_;
};

}  // namespace gt
