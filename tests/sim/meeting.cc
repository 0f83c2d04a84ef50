#include "tests/sim/meeting.h"

#include <algorithm>

#include "tests/sim/oracle.h"

namespace gt::sim {
namespace {
constexpr Millis kHealing = 7;
}

void Meetings::Dissolve(Meeting* meeting) {
  if (meeting->since != kNever) meeting->left = std::max<Millis>(0, meeting->left - (timeline_->now() - meeting->since));
  meeting->since = kNever;
  ++meeting->round;
}

void Meetings::Arrive(const Uid& uid, size_t world, Millis work, Rank rank) {
  Meeting& meeting = meetings_[uid];
  if (meeting.left < 0) meeting.left = work;
  auto before = meeting.ranks.find(rank.number);
  if (before != meeting.ranks.end()) {
    if (before->second.generation > rank.generation) return;  // a copy that was left behind
    if (before->second.generation == rank.generation && before->second.node != rank.node)
      return oracle_->Fail("rank " + std::to_string(rank.number) + " of " + ToHex(uid).substr(0, 8) + " is there twice in generation " +
                           std::to_string(rank.generation.value));
  }
  Generation generation = rank.generation;
  Dissolve(&meeting);
  meeting.ranks[rank.number] = std::move(rank);
  bool all = meeting.ranks.size() == world && std::all_of(meeting.ranks.begin(), meeting.ranks.end(),
                                                          [&](const auto& one) { return one.second.generation == generation; });
  if (all) timeline_->After(kHealing, [this, uid, round = meeting.round] { Form(uid, round); });
}

void Meetings::Form(const Uid& uid, uint64_t round) {
  Meeting& meeting = meetings_.at(uid);
  if (meeting.round != round) return;
  meeting.since = timeline_->now();
  for (const auto& [number, rank] : meeting.ranks) rank.joined();
  timeline_->After(meeting.left, [this, uid, round] {
    Meeting& meeting = meetings_.at(uid);
    if (meeting.round != round) return;
    auto ranks = meeting.ranks;  // their ends change it
    for (const auto& [number, rank] : ranks) rank.done();
  });
}

void Meetings::Die(const Uid& uid, uint32_t number, size_t node) {
  auto found = meetings_.find(uid);
  if (found == meetings_.end()) return;
  auto rank = found->second.ranks.find(number);
  if (rank == found->second.ranks.end() || rank->second.node != node) return;
  found->second.ranks.erase(rank);
  Dissolve(&found->second);
}

}  // namespace gt::sim
