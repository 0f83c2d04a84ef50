// A small seeded generator (splitmix64, Steele et al. 2014) for simulation, jitter and tests. Never for secrets.
#pragma once
#include <cstdint>

namespace gt {

class Rng {
 public:
  explicit Rng(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  // 0 .. bound-1; bound > 0. The bias is below bound / 2^64.
  uint64_t Below(uint64_t bound) { return Next() % bound; }
  // true once in n
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

 private:
  uint64_t state_;
};

}  // namespace gt
