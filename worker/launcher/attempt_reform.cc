// Ranks that can re-form: one that fails is down, the others wait for the next generation, and a Go starts it again. Who
// decides that is the coordinator; here is only the deadline by which it must have.
#include <signal.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/base/cut_text.h"
#include "worker/launcher/attempt.h"

namespace gt::launcher {

namespace {
constexpr size_t kMostText = 1024;
constexpr int32_t kRunAgain = 75;  // checkpointed and left: nobody replaces it

uint64_t NumberIn(const nlohmann::json& object, const char* name) {
  auto found = object.find(name);
  return found != object.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}
}  // namespace

bool Attempt::CanReform(const RankExit& exit) const {
  if (!start_.contract || start_.reform_timeout <= 0 || !formed_ || exit.code == 0 || exit.code == kRunAgain) return false;
  if (exit.code < 0 && exit.signal == 0) return false;  // its keeper was killed, and all with it
  // A rank that left in order has taken its state with it; without memory the next one would end alike.
  bool left = std::any_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.exited && rank.exit.code == 0; });
  return !left && !gang_->OutOfMemory();
}

void Attempt::OnRankDown(uint32_t local_rank) {
  Rank& rank = ranks_[local_rank];
  rank.down = true;
  rank.finished = false;
  rank.joined = {};
  rank.out->Drain();
  rank.err->Drain();
  rank.exit.tail = !rank.err->tail().empty() ? rank.err->tail() : rank.out->tail();
  if (reform_timer_ == 0) reform_timer_ = context_->poller->After(start_.reform_timeout, [this] { GiveUpReform(); });
  Log("rank " + std::to_string(rank.exit.rank) + " is down; the others wait for the next generation");
  Publish();
}

const Attempt::Rank* Attempt::FirstDown() const {
  auto found = std::find_if(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.down; });
  return found == ranks_.end() ? nullptr : &*found;
}

// Nobody has said in time how to go on.
void Attempt::GiveUpReform() {
  reform_timer_ = 0;
  const Rank* down = FirstDown();
  if (step_ != Step::kRunning || down == nullptr) return;
  OnFailure(static_cast<uint32_t>(down - ranks_.data()));
  if (exited_ == started_) AllExited();
}

void Attempt::OnJoined(uint32_t local_rank, const std::string& line) {
  auto json = nlohmann::json::parse(line, nullptr, false);
  auto can = json.find("can_reform");
  uint64_t generation = NumberIn(json, "generation");
  if (can == json.end() || !can->is_boolean() || !can->get<bool>() || generation == 0 || generation > generation_.value) return;
  Rank& rank = ranks_[local_rank];
  if (rank.exited) return;  // its last words
  rank.joined = Generation{static_cast<uint32_t>(generation)};
  rank.step = NumberIn(json, "step");
  rank.redone_samples = NumberIn(json, "redone_samples");
  Generation all = formation().joined;
  if (all.value == 0) return;
  formed_ = true;
  if (all == rank.joined) Publish();  // the last one here
}

Formation Attempt::formation() const {
  Formation formation;
  formation.joined = Generation{UINT32_MAX};
  for (const Rank& rank : ranks_) {
    formation.joined = std::min(formation.joined, rank.joined);
    formation.step = std::max(formation.step, rank.step);
    formation.redone_samples = std::max(formation.redone_samples, rank.redone_samples);
    if (!formation.survives && !rank.exited && rank.joined.value > 0 && rank.store.port != 0) {
      formation.survives = true;
      formation.store_addr = rank.store.address;
      formation.store_port = rank.store.port;
    }
    if (!rank.down || rank.restarting) continue;
    RankDown& down = formation.down.emplace_back(RankDown{rank.born, rank.exit});
    down.exit.message = CutText(down.exit.message, kMostText);
    if (down.exit.tail.size() > kMostText) down.exit.tail.erase(0, down.exit.tail.size() - kMostText);
  }
  return formation;
}

void Attempt::Restart(const Go& go) {
  SetGeneration(&plan_, generation_);
  for (uint32_t i = 0; i < std::min(go.born.size(), ranks_.size()); ++i) {
    const Rank& rank = ranks_[i];
    if (!rank.down || rank.restarting || rank.born >= go.born[i]) continue;
    Status status = RestartRank(i, go.born[i]);
    if (!status.ok()) return OnLaunchFailed(i, status);
    if (step_ != Step::kRunning) return;  // it could not be started
  }
  bool waits = std::any_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.down && !rank.restarting; });
  if (!waits) context_->poller->Cancel(&reform_timer_);
}

Status Attempt::RestartRank(uint32_t local_rank, Generation born) {
  Rank& rank = ranks_[local_rank];
  RankExit fresh;
  fresh.rank = rank.exit.rank;
  fresh.lost_bytes = rank.exit.lost_bytes + rank.out->discarded() + rank.err->discarded();
  rank.exit = std::move(fresh);
  rank.said.clear();
  rank.store = {};
  rank.connection = 0;
  rank.step = rank.redone_samples = 0;
  rank.born = born;
  rank.restarting = true;
  rank.out = std::make_unique<RankStream>(context_->gate, start_.uid, rank.exit.rank, Stream::kStdout);
  rank.err = std::make_unique<RankStream>(context_->gate, start_.uid, rank.exit.rank, Stream::kStderr);
  GT_RETURN_IF_ERROR(rank.out->Open());
  GT_RETURN_IF_ERROR(rank.err->Open());
  Log("rank " + std::to_string(rank.exit.rank) + " is started again in generation " + std::to_string(born.value));
  gang_->Restart(local_rank, {rank.out->write_fd(), rank.err->write_fd()}, generation_);
  rank.out->CloseWriteEnd();
  rank.err->CloseWriteEnd();
  return OkStatus();
}

void Attempt::OnRestarted(uint32_t local_rank) {
  Rank& rank = ranks_[local_rank];
  rank.restarting = rank.down = rank.exited = false;
  --exited_;
  if (step_ == Step::kStopping) gang_->Signal(SIGTERM);  // it was told so before this one was there
}

}  // namespace gt::launcher
