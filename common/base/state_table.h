// A state machine as a table that one can read in one screen; any other move is a broken invariant.
#pragma once
#include <cstdint>
#include <initializer_list>

#include "common/base/assert.h"

namespace gt {

// State is an enum class with values 0..N-1, N <= 32. Row i holds the states that state i may move to.
template <typename State, size_t N>
class StateTable {
 public:
  struct Row { State from; std::initializer_list<State> to; };
  constexpr StateTable(std::initializer_list<Row> rows) {
    for (const Row& row : rows)
      for (State to : row.to) allowed_[static_cast<size_t>(row.from)] |= 1u << static_cast<uint32_t>(to);
  }
  constexpr bool Allows(State from, State to) const {
    return (allowed_[static_cast<size_t>(from)] >> static_cast<uint32_t>(to)) & 1u;
  }
  void Move(State* state, State to) const {
    GT_ASSERT(Allows(*state, to));
    *state = to;
  }

 private:
  uint32_t allowed_[N] = {};
};

}  // namespace gt
