#include "worker/launcher/attempts.h"

namespace gt::launcher {

void Attempts::Restore(const std::map<Uid, JournalEntry>& entries,
                       const std::map<std::pair<Uid, uint32_t>, SpoolWriter::Sizes>& sizes) {
  for (const auto& [uid, entry] : entries) {
    std::vector<SpoolWriter::Sizes> known;
    for (uint32_t i = 0; i < entry.start.ranks; ++i) {
      auto found = sizes.find({uid, entry.start.first_rank + i});
      known.push_back(found != sizes.end() ? found->second : SpoolWriter::Sizes{-1, -1, 0});
    }
    attempts_[uid] = std::make_unique<Attempt>(context_, entry, known);
  }
}

// nullptr, and told so, when there is none.
Attempt* Attempts::Find(const Uid& uid, const std::function<void(const State&)>& answer) {
  auto found = attempts_.find(uid);
  if (found != attempts_.end()) return found->second.get();
  answer(State{.uid = uid, .phase = Phase::kUnknown});
  return nullptr;
}

void Attempts::Handle(const Message& message, const std::function<void(const State&)>& answer) {
  if (const auto* start = std::get_if<Start>(&message)) {
    OnStart(*start, answer);
  } else if (const auto* go = std::get_if<Go>(&message)) {
    if (Attempt* attempt = Find(go->uid, answer)) attempt->OnGo(*go);
  } else if (const auto* stop = std::get_if<Stop>(&message)) {
    if (Attempt* attempt = Find(stop->uid, answer)) attempt->OnStop(*stop);
  } else if (const auto* rearm = std::get_if<RearmStopAfter>(&message)) {
    if (Attempt* attempt = Find(rearm->uid, answer)) attempt->OnRearm(rearm->remaining);
  } else if (const auto* tell = std::get_if<TellRanks>(&message)) {
    if (Attempt* attempt = Find(tell->uid, answer)) attempt->OnTell(tell->local_rank, tell->line);
  } else if (const auto* forget = std::get_if<Forget>(&message)) {
    OnForget(forget->uid);
  } else if (const auto* ack = std::get_if<SpoolAck>(&message)) {
    context_->disk->Acknowledge(ack->offset);
  }
}

void Attempts::OnStart(const Start& start, const std::function<void(const State&)>& answer) {
  if (start.uid.empty()) return context_->disk->Log("refused: a start without a uid");
  auto [at, fresh] = attempts_.try_emplace(start.uid);
  if (!fresh) return answer(at->second->state());
  at->second = std::make_unique<Attempt>(context_, start);
}

void Attempts::OnForget(const Uid& uid) {
  auto found = attempts_.find(uid);
  if (found == attempts_.end() || !found->second->ended()) return;
  attempts_.erase(found);
  context_->disk->Forget(uid);
}

void Attempts::ForEach(const std::function<void(const Attempt&)>& visit) const {
  for (const auto& [uid, attempt] : attempts_) visit(*attempt);
}

size_t Attempts::live() const {
  size_t count = 0;
  for (const auto& [uid, attempt] : attempts_) count += attempt->ended() ? 0 : 1;
  return count;
}

}  // namespace gt::launcher
