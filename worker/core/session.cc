#include "worker/core/session.h"

#include <algorithm>

namespace gt::worker {
namespace {
constexpr size_t kRememberedBeats = 64;
}

bool Session::StartConnecting(Now now) {
  if (state_ != State::kWaiting || now.mono < connect_at_) return false;
  state_ = State::kConnecting;
  return true;
}

void Session::Opened(Now now) {
  state_ = State::kOpen;
  last_sent_ = in_flight_ = received_ = done_ = 0;
  ack_due_ = false;
  sent_beats_.clear();
  next_beat_ = now.mono + beat_every_;
  silence_deadline_ = now.mono + options_.welcome_within;
}

void Session::Closed(Now now) {
  if (state_ == State::kRefused) return;
  state_ = State::kWaiting;
  silence_deadline_ = kNever;
  pause_ = std::clamp<Millis>(pause_ * 2, options_.first_pause, options_.longest_pause);
  Millis half = pause_ / 2;
  connect_at_ = now.mono + half + static_cast<Millis>(rng_.Below(static_cast<uint64_t>(half) + 1));
}

void Session::Welcomed(const Welcome& welcome, Now now) {
  state_ = State::kWelcomed;
  pause_ = 0;
  beat_every_ = std::clamp<Millis>(welcome.beat_ms, 10, 60 * kSecond);
  silence_limit_ = std::max(5 * beat_every_, std::clamp<Millis>(welcome.lease_ms, 0, kHour) / 3);
  next_beat_ = std::min(next_beat_, now.mono + beat_every_);
  Heard(now);
}

void Session::Heard(Now now) {
  if (state_ == State::kWelcomed) silence_deadline_ = now.mono + silence_limit_;
}

Session::Ack Session::OnAck(uint64_t ack) {
  if (ack > last_sent_) return Ack::kInvalid;
  if (in_flight_ == 0 || ack != in_flight_) return Ack::kOld;
  in_flight_ = 0;
  return Ack::kCurrent;
}

Session::Order Session::OnOrders(uint64_t seq) {
  if (seq <= received_) return Order::kRepeated;
  if (seq != received_ + 1) return Order::kGap;
  received_ = seq;
  return Order::kNew;
}

uint64_t Session::TakeBeat(Now now) {
  if (!open() || now.mono < next_beat_) return 0;
  next_beat_ = now.mono + beat_every_;
  sent_beats_.emplace_back(++beats_, now.mono);
  if (sent_beats_.size() > kRememberedBeats) sent_beats_.pop_front();
  return beats_;
}

std::optional<Millis> Session::OnBeatEcho(uint64_t beat) {
  std::optional<Millis> sent;
  while (!sent_beats_.empty() && sent_beats_.front().first <= beat) {
    if (sent_beats_.front().first == beat) sent = sent_beats_.front().second;
    sent_beats_.pop_front();
  }
  return sent;
}

Millis Session::Deadline() const {
  if (state_ == State::kWaiting) return connect_at_;
  return open() ? std::min(next_beat_, silence_deadline_) : kNever;
}

}  // namespace gt::worker
