// Ranks that form groups and re-form them, as worker/launcher/attempt_reform.cc has them.
#include "tests/sim/launcher.h"
#include "tests/sim/oracle.h"

namespace gt::sim {

// It knows its rendezvous and waits for the others.
void Launcher::Meet(const Uid& uid) {
  const Entry& entry = *Find(uid);
  Generation generation = entry.generation;
  auto still = [this, uid, generation, boot = boot_]() -> Entry* {
    Entry* entry = boot == boot_ ? Find(uid) : nullptr;
    return entry && entry->alive && entry->generation == generation ? entry : nullptr;
  };
  meetings_->Arrive(uid, entry.start.world_size, entry.fate.runs,
                    {.number = entry.start.group_rank,
                     .generation = generation,
                     .node = node_,
                     .joined =
                         [this, still, generation] {
                           Entry* entry = still();
                           if (!entry) return;
                           entry->joined = generation;
                           if (!up_) return;
                           entry->formed = true;
                           Say(*entry);
                         },
                     .done =
                         [this, uid, still] {
                           if (still()) Died(uid, 0, 0);
                         }});
}

void Launcher::Leave(const Entry& entry) {
  if (entry.fate.meets) meetings_->Die(entry.start.uid, entry.start.group_rank, node_);
}

std::optional<worker::Formation> Launcher::FormationOf(const Entry& entry) const {
  if (!entry.fate.meets || !entry.formed || entry.exit || entry.stopping) return std::nullopt;
  worker::Formation formation{.joined = entry.joined, .survives = entry.alive && entry.joined.value > 0};
  if (formation.survives) formation.store = {entry.start.node_address, static_cast<uint16_t>(30000 + node_)};
  if (entry.down) formation.down.push_back({entry.born, *entry.down});
  return formation;
}

void Launcher::RankFails(const Uid& uid, Generation born, const Death& death) {
  Entry* entry = Find(uid);
  if (!entry || !entry->alive || entry->born != born) return;
  if (!up_ || entry->stopping || !entry->formed) return Died(uid, death.code, death.signal);
  entry->alive = entry->exec_due = false;
  entry->joined = {};
  entry->down = worker::RankExit{.rank = entry->start.first_rank, .code = death.code, .signal = death.signal, .ended_ms = wall()};
  Leave(*entry);
  oracle_->Trace([&] { return "n" + std::to_string(node_) + ": a rank of " + ToHex(uid).substr(0, 8) + " dies"; });
  Say(*entry);
  Later(entry->start.reform_timeout, true, [this, uid, born] { GiveUp(uid, born); });
}

void Launcher::GiveUp(const Uid& uid, Generation born) {
  const Entry* entry = Find(uid);
  if (!entry || entry->exit || entry->stopping || !entry->down || entry->born != born) return;
  End(uid, worker::ExitWhy::kRankFailed, entry->down->code, entry->down->signal, "nobody re-formed the gang");
}

void Launcher::Restart(Entry* entry, const std::vector<Generation>& born) {
  if (!entry->down || entry->exit || entry->stopping || born.empty() || entry->born >= born[0]) return;
  if (born[0] > entry->generation) oracle_->Fail("a rank is to be started in a generation that is not there yet");
  entry->born = born[0];
  entry->down.reset();
  ExecSoon(entry->start.uid);
}

}  // namespace gt::sim
