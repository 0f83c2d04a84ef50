// Streams between nodes and the coordinator. In order while they live; any delay; what is in flight when one breaks is
// lost, and each side learns of it in its own time. While a direction is blocked, what would arrive waits (as TCP would
// have it) and arrives when the way is free, unless the stream has ended by then.
#pragma once
#include <array>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/rng.h"
#include "tests/sim/timeline.h"

namespace gt::sim {

using StreamId = uint64_t;
enum Direction : uint8_t { kUp = 0, kDown = 1 };  // to the coordinator, to the node

class Network {
 public:
  struct Ends {
    std::function<bool(StreamId, size_t node)> accept;              // false: nobody listens
    std::function<void(StreamId, const std::string&)> report;       // arrived at the coordinator
    std::function<void(StreamId)> gone;                             // the coordinator learns that it ended
    std::function<void(StreamId, size_t node, bool ok)> connected;  // the node's answer to Connect
    std::function<void(StreamId, size_t node, const std::string&)> orders;
    std::function<void(StreamId, size_t node)> lost;  // the node learns that it ended
  };
  struct Options {
    Millis longest_delay = 5;
    bool prompt = false;  // a broken stream is noticed at once by both sides
  };
  Network(Timeline* timeline, size_t nodes, Options options, uint64_t seed)
      : timeline_(timeline), longest_(options.longest_delay), prompt_(options.prompt), rng_(seed), nodes_(nodes) {}
  void SetEnds(Ends ends) { ends_ = std::move(ends); }

  StreamId Connect(size_t node);
  void Send(StreamId stream, Direction direction, std::string bytes);
  // In order behind what was sent: the other side learns of it when it gets there. This side hears no more.
  void Close(StreamId stream, Direction towards);

  // Faults.
  void Break(size_t node);  // its streams
  void Block(size_t node, Direction direction, Millis lasts);
  void Slow(size_t node, Millis longest, Millis lasts);
  void NodeDied(size_t node, bool silently);  // its worker; silently: nobody says so (power loss)
  void CoordinatorDied();
  void Calm();  // everything gets through from now on
  // A round trip of a client's request; nullopt: lost.
  std::optional<Millis> ClientDelay() {
    return rng_.OneIn(20) && !calm_ ? std::nullopt : std::optional(Delay(longest_));
  }

 private:
  struct Item {
    std::string bytes;
    bool close = false;
  };
  struct Side {
    bool hears = true;
    Millis last = 0;
    std::deque<Item> held;
  };  // of the receiver of a direction
  struct Stream {
    size_t node = 0;
    std::array<Side, 2> to;
  };
  struct Way {
    Millis blocked_until[2] = {0, 0};
    Millis slow_until = 0, slow = 0;
  };

  Millis Delay(Millis longest) { return static_cast<Millis>(rng_.Below(static_cast<uint64_t>(longest) + 1)); }
  Millis DelayOf(size_t node);
  bool Blocked(size_t node, Direction direction) const {
    return timeline_->now() < nodes_[node].blocked_until[direction];
  }
  void Put(StreamId id, Direction direction, Item item);
  void Arrive(StreamId id, Direction direction, Item item);
  void Deliver(StreamId id, Direction direction, const Item& item);
  void Release(size_t node, Direction direction);
  void TellEnd(StreamId id, Direction side, Millis after);
  void Cut(StreamId id);  // both ways, what is in flight is lost

  Timeline* const timeline_;
  const Millis longest_;
  const bool prompt_;
  Rng rng_;
  Ends ends_;
  std::vector<Way> nodes_;
  std::map<StreamId, Stream> streams_;
  StreamId next_ = 1;
  bool calm_ = false;
};

}  // namespace gt::sim
