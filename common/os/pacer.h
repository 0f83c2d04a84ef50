// A limit for how often a loop turns. Rare events are dealt with at once; when they come in a stream, the loop sleeps a little
// between turns and finds several at each, because waking a thread costs more than most of what it is woken for.
#pragma once
#include <algorithm>
#include <chrono>

namespace gt {

// One thread at a time. The rule is the generic cell rate algorithm (ITU-T I.371): `burst` turns may come at any moment,
// beyond that one each `pace`.
class Pacer {
 public:
  using Clock = std::chrono::steady_clock;
  Pacer(Clock::duration pace, int burst) : pace_(pace), tolerance_(pace * burst) {}

  // How long a turn that wants to begin now has to wait; counts it as begun then.
  Clock::duration Delay(Clock::time_point now) {
    Clock::time_point begin = std::max(now, next_ - tolerance_);
    next_ = std::max(next_, begin) + pace_;
    return begin - now;
  }
  // Waits for as long.
  void Turn();

 private:
  Clock::duration pace_, tolerance_;
  Clock::time_point next_{};  // when the next turn would begin, were all a pace apart
};

}  // namespace gt
