// The conversation with the coordinator, without its contents: connecting and waiting, sequence numbers and
// acknowledgements of both directions, beats, silence. Pure: every entry is given the time.
#pragma once
#include <deque>
#include <optional>
#include <string>

#include "common/base/rng.h"
#include "worker/core/messages.h"

namespace gt::worker {

class Session {
 public:
  enum class State : uint8_t {
    kWaiting,     // no stream; one is to be opened at connect_at
    kConnecting,  // asked for
    kOpen,        // the stream is there, no welcome yet
    kWelcomed,
    kRefused,     // for good
  };
  struct Options {
    uint64_t seed = 1;
    Millis first_pause = 50, longest_pause = 2000;  // between attempts to connect
    Millis welcome_within = 10000;
  };
  explicit Session(const Options& options) : options_(options), rng_(options.seed) {}

  State state() const { return state_; }
  bool open() const { return state_ == State::kOpen || state_ == State::kWelcomed; }

  // True once when the time to connect has come.
  bool StartConnecting(Now now);
  void Opened(Now now);
  // Also after a protocol error of the other side. The next attempt comes after a jittered pause; it grows until a
  // welcome.
  void Closed(Now now);
  void Welcomed(const Welcome& welcome, Now now);
  void Refused() { state_ = State::kRefused; }
  // The other side has been silent for too long: the stream is dead, whatever TCP says.
  bool Silent(Now now) const { return open() && now.mono >= silence_deadline_; }
  void Heard(Now now);

  // Reports. At most one is in flight.
  bool can_send() const { return in_flight_ == 0; }
  uint64_t TakeSeq() { return in_flight_ = ++last_sent_; }
  // kInvalid: the other side acknowledges what was never sent.
  enum class Ack : uint8_t { kOld, kCurrent, kInvalid };
  Ack OnAck(uint64_t ack);

  // Orders.
  enum class Order : uint8_t { kNew, kRepeated, kGap };
  Order OnOrders(uint64_t seq);
  void OrdersDone() { done_ = received_, ack_due_ = true; }
  void RepeatAck() { ack_due_ = true; }
  bool orders_pending() const { return done_ != received_; }
  uint64_t ack() const { return done_; }
  bool TakeAckDue() { return std::exchange(ack_due_, false); }

  // Beats. 0: none due.
  uint64_t TakeBeat(Now now);
  // When the echoed beat was sent; nullopt for one that was never sent or is long gone.
  std::optional<Millis> OnBeatEcho(uint64_t beat);

  Millis Deadline() const;

 private:
  Options options_;
  Rng rng_;
  State state_ = State::kWaiting;
  Millis connect_at_ = 0;  // at once
  Millis pause_ = 0;
  Millis silence_limit_ = 10000, silence_deadline_ = kNever;
  uint64_t last_sent_ = 0, in_flight_ = 0;
  uint64_t received_ = 0, done_ = 0;
  bool ack_due_ = false;
  Millis beat_every_ = 2000, next_beat_ = 0;
  uint64_t beats_ = 0;
  std::deque<std::pair<uint64_t, Millis>> sent_beats_;
};

}  // namespace gt::worker
