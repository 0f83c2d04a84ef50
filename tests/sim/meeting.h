// The groups that ranks form, over all nodes: a generation is joined once every rank of the attempt has come to it, and
// work gets done only while a group stands. One rank a node.
#pragma once
#include <functional>
#include <map>

#include "common/base/ids.h"
#include "tests/sim/timeline.h"

namespace gt::sim {

class Oracle;

class Meetings {
 public:
  Meetings(Timeline* timeline, Oracle* oracle) : timeline_(timeline), oracle_(oracle) {}

  struct Rank {
    uint32_t number = 0;
    Generation generation;
    size_t node = 0;
    std::function<void()> joined, done;
  };
  // A living rank has been told of the generation. The last call counts. `work`: how long a group has to stand, in all.
  void Arrive(const Uid& uid, size_t world, Millis work, Rank rank);
  void Die(const Uid& uid, uint32_t number, size_t node);

 private:
  struct Meeting {
    std::map<uint32_t, Rank> ranks;
    Millis left = -1;       // of the work; -1: no group has formed yet
    Millis since = kNever;  // the group stands
    uint64_t round = 0;
  };
  void Dissolve(Meeting* meeting);
  void Form(const Uid& uid, uint64_t round);

  Timeline* const timeline_;
  Oracle* const oracle_;
  std::map<Uid, Meeting> meetings_;
};

}  // namespace gt::sim
