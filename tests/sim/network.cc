#include "tests/sim/network.h"

namespace gt::sim {
namespace {
constexpr Millis kConnectTimeout = 5 * kSecond;
constexpr Millis kKeepalive = 30 * kSecond;  // after which a silent death is noticed
}  // namespace

Millis Network::DelayOf(size_t node) {
  const Way& way = nodes_[node];
  return Delay(timeline_->now() < way.slow_until ? way.slow : longest_);
}

StreamId Network::Connect(size_t node) {
  StreamId id = next_++;
  bool blocked = Blocked(node, kUp) || Blocked(node, kDown);
  Millis takes = blocked ? kConnectTimeout : DelayOf(node);
  timeline_->After(takes, [this, id, node] {
    if (Blocked(node, kUp) || Blocked(node, kDown) || !ends_.accept(id, node)) return ends_.connected(id, node, false);
    streams_[id].node = node;
    ends_.connected(id, node, true);
  });
  return id;
}

void Network::Send(StreamId stream, Direction direction, std::string bytes) {
  Put(stream, direction, {std::move(bytes)});
}

void Network::Close(StreamId stream, Direction towards) {
  auto found = streams_.find(stream);
  if (found == streams_.end()) return;
  found->second.to[1 - towards].hears = false;
  Put(stream, towards, {.close = true});
}

void Network::Put(StreamId id, Direction direction, Item item) {
  auto found = streams_.find(id);
  if (found == streams_.end() || !found->second.to[direction].hears) return;
  Side& side = found->second.to[direction];
  side.last = std::max(side.last, timeline_->now() + DelayOf(found->second.node));
  timeline_->At(side.last,
                [this, id, direction, item = std::move(item)]() mutable { Arrive(id, direction, std::move(item)); });
}

void Network::Arrive(StreamId id, Direction direction, Item item) {
  auto found = streams_.find(id);
  if (found == streams_.end() || !found->second.to[direction].hears) return;
  Side& side = found->second.to[direction];
  if (Blocked(found->second.node, direction) || !side.held.empty()) return side.held.push_back(std::move(item));
  Deliver(id, direction, item);
}

void Network::Deliver(StreamId id, Direction direction, const Item& item) {
  Stream& stream = streams_.at(id);
  size_t node = stream.node;
  if (item.close) {
    stream.to[direction].hears = false;
    if (!stream.to[1 - direction].hears) streams_.erase(id);
    return direction == kUp ? ends_.gone(id) : ends_.lost(id, node);
  }
  direction == kUp ? ends_.report(id, item.bytes) : ends_.orders(id, node, item.bytes);
}

void Network::Release(size_t node, Direction direction) {
  if (Blocked(node, direction)) return;
  std::vector<StreamId> ids;
  for (const auto& [id, stream] : streams_)
    if (stream.node == node) ids.push_back(id);
  for (StreamId id : ids) {
    while (streams_.contains(id) && !streams_.at(id).to[direction].held.empty()) {
      Side& side = streams_.at(id).to[direction];
      Item item = std::move(side.held.front());
      side.held.pop_front();
      if (side.hears) Deliver(id, direction, item);
    }
  }
}

void Network::Block(size_t node, Direction direction, Millis lasts) {
  Millis& until = nodes_[node].blocked_until[direction];
  until = std::max(until, timeline_->now() + lasts);
  timeline_->At(until, [this, node, direction] { Release(node, direction); });
}

void Network::Slow(size_t node, Millis longest, Millis lasts) {
  nodes_[node].slow = longest;
  nodes_[node].slow_until = timeline_->now() + lasts;
}

void Network::TellEnd(StreamId id, Direction side, Millis after) {
  if (!streams_.at(id).to[side].hears) return;
  streams_.at(id).to[side].hears = false;
  size_t node = streams_.at(id).node;
  timeline_->After(after, [this, id, side, node] { side == kUp ? ends_.gone(id) : ends_.lost(id, node); });
}

void Network::Cut(StreamId id) {
  TellEnd(id, kUp, !prompt_ && rng_.OneIn(3) ? Delay(kKeepalive) : DelayOf(streams_.at(id).node));
  TellEnd(id, kDown, !prompt_ && rng_.OneIn(3) ? Delay(kKeepalive) : DelayOf(streams_.at(id).node));
  streams_.erase(id);
}

void Network::Break(size_t node) {
  std::vector<StreamId> ids;
  for (const auto& [id, stream] : streams_)
    if (stream.node == node) ids.push_back(id);
  for (StreamId id : ids) Cut(id);
}

void Network::NodeDied(size_t node, bool silently) {
  std::vector<StreamId> ids;
  for (const auto& [id, stream] : streams_)
    if (stream.node == node) ids.push_back(id);
  for (StreamId id : ids) {
    TellEnd(id, kUp, silently || Blocked(node, kUp) ? kKeepalive : DelayOf(node));
    streams_.erase(id);
  }
}

void Network::CoordinatorDied() {
  for (auto& [id, stream] : streams_)
    TellEnd(id, kDown, Blocked(stream.node, kDown) ? kKeepalive : DelayOf(stream.node));
  streams_.clear();
}

void Network::Calm() {
  calm_ = true;
  for (size_t node = 0; node < nodes_.size(); ++node) {
    nodes_[node] = {};
    Release(node, kUp);
    Release(node, kDown);
  }
}

}  // namespace gt::sim
