// The rank contract, as an attempt takes part in it.
#include <nlohmann/json.hpp>

#include "common/base/cut_text.h"
#include "worker/launcher/attempt.h"

namespace gt::launcher {

namespace {
bool IsForwarded(const std::string& type) {
  for (const char* known : {"progress", "joined", "lost", "finished", "checkpoint", "failure", "diagnosis"})
    if (type == known) return true;
  return false;
}
}  // namespace

int Attempt::OnHello(const RankHello& hello) {
  if (hello.rank >= 0) {
    int64_t local = hello.rank - start_.first_rank;
    return local >= 0 && local < static_cast<int64_t>(ranks_.size()) ? static_cast<int>(local) : -1;
  }
  for (pid_t pid : {hello.peer_pid, hello.said_pid})
    for (uint32_t i = 0; i < ranks_.size(); ++i)
      if (pid > 0 && ranks_[i].started && ranks_[i].exit.pid == pid) return static_cast<int>(i);
  return ranks_.size() == 1 ? 0 : -1;
}

void Attempt::OnConnected(uint32_t local_rank, uint64_t connection, const RankHello& hello) {
  ranks_[local_rank].connection = connection;
  ranks_[local_rank].store = {hello.store_addr, hello.store_port};
  if (local_rank == 0 && (!hello.store_addr.empty() || start_.world_size == 1)) {  // a rank alone needs no store
    hello_ = {hello.store_addr, hello.store_port};
    if (start_.contract && start_.local_endpoint && !endpoint_known_) {
      endpoint_ = hello_;
      endpoint_known_ = true;
      for (uint32_t i = 1; i < ranks_.size(); ++i) SendRendezvous(i);
    }
    Publish();
  }
  SendRendezvous(local_rank);
}

void Attempt::SendRendezvous(uint32_t local_rank) {
  const Rank& rank = ranks_[local_rank];
  if (!start_.contract || !endpoint_known_ || rank.connection == 0) return;
  nlohmann::json line = {{"type", "rendezvous"},
                         {"generation", generation_.value},
                         {"rank", start_.first_rank + local_rank},
                         {"world_size", start_.world_size},
                         {"store_addr", endpoint_.address},
                         {"store_port", endpoint_.port}};
  context_->rank_socket->Send(rank.connection, line.dump());
}

void Attempt::OnLine(uint32_t local_rank, const RankLine& line) {
  if (!IsForwarded(line.type)) return;
  Rank& rank = ranks_[local_rank];
  if (line.type == "failure") rank.exit.message = CutText(line.message, 4096);
  rank.said[line.type] = line.line;
  context_->said({start_.uid, rank.exit.rank, line.line});
  if (line.type == "joined") OnJoined(local_rank, line.line);
  if (line.type != "finished") return;
  rank.finished = true;
  // All members are here, so nobody else need be asked: the ranks may leave once all have finished.
  if (!start_.local_endpoint) return;
  for (const Rank& one : ranks_)
    if (!one.finished) return;
  OnTell(kAllRanks, "{\"type\":\"stop\"}");
}

void Attempt::OnDisconnected(uint32_t local_rank, uint64_t connection) {
  if (local_rank < ranks_.size() && ranks_[local_rank].connection == connection) ranks_[local_rank].connection = 0;
}

void Attempt::OnTell(uint32_t local_rank, const std::string& line) {
  for (uint32_t i = 0; i < ranks_.size(); ++i)
    if ((local_rank == kAllRanks || local_rank == i) && ranks_[i].connection != 0) {
      context_->rank_socket->Send(ranks_[i].connection, line);
    }
}

void Attempt::ForEachSaid(const std::function<void(const RankSaid&)>& visit) const {
  for (const Rank& rank : ranks_)
    for (const auto& [type, line] : rank.said) visit({start_.uid, rank.exit.rank, line});
}

}  // namespace gt::launcher
