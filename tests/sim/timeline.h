// Simulated time: what is going to happen, in order. Two things at the same instant happen in the order in which they
// were asked for, so that a seed always gives the same run.
#pragma once
#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "common/base/time.h"

namespace gt::sim {

class Timeline {
 public:
  Millis now() const { return now_; }

  void At(Millis when, std::function<void()> what) {
    heap_.push_back({std::max(when, now_), next_++, std::move(what)});
    std::push_heap(heap_.begin(), heap_.end());
  }
  void After(Millis delay, std::function<void()> what) { At(now_ + delay, std::move(what)); }

  // The next thing happens; false, and time moves on to `until`, when there is none before it.
  bool Step(Millis until) {
    if (heap_.empty() || heap_.front().at > until) {
      now_ = std::max(now_, until);
      return false;
    }
    std::pop_heap(heap_.begin(), heap_.end());
    Entry entry = std::move(heap_.back());
    heap_.pop_back();
    now_ = entry.at;
    entry.what();
    return true;
  }

 private:
  struct Entry {
    Millis at = 0;
    uint64_t order = 0;
    std::function<void()> what;
    bool operator<(const Entry& other) const { return std::pair(at, order) > std::pair(other.at, other.order); }
  };
  Millis now_ = 0;
  uint64_t next_ = 0;
  std::vector<Entry> heap_;
};

}  // namespace gt::sim
