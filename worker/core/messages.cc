#include "worker/core/messages.h"

#include <algorithm>

#include "common/base/cut_text.h"

namespace gt::worker {
namespace {

constexpr size_t kRankBytes = 96;    // numbers and tags of a RankExit at their longest
constexpr size_t kReportBytes = 96;  // the same for an AttemptReport without its parts

size_t WireSize(const ExitRecord& exit) {
  size_t size = 64 + exit.message.size();
  for (const RankExit& rank : exit.ranks) size += kRankBytes + rank.tail.size() + rank.message.size();
  return size;
}

size_t WireSize(const Progress& progress) {
  size_t size = 48 + progress.phase.size();
  for (const auto& [name, value] : progress.metrics) size += 24 + name.size();
  return size;
}

void CutTo(std::string* text, size_t limit, bool keep_end) {
  if (text->size() <= limit) return;
  if (keep_end) text->erase(0, text->size() - limit);
  else text->resize(CutText(*text, limit).size());
}

}  // namespace

size_t WireSize(const AttemptReport& report) {
  size_t size = kReportBytes;
  if (report.endpoint) size += 16 + report.endpoint->address.size();
  if (report.exit) size += WireSize(*report.exit);
  if (report.progress) size += WireSize(*report.progress);
  if (report.formation) {
    size += 64 + report.formation->store.address.size();
    for (const RankDown& down : report.formation->down) size += 16 + kRankBytes + down.exit.tail.size() + down.exit.message.size();
  }
  if (report.checkpoint) size += 48 + report.checkpoint->path.size();
  return size;
}

size_t WireSize(const JobLaunch& job) {
  size_t size = 160 + job.workdir.size() + job.spec_json.size() + job.checkpoint_dir.size();
  for (const std::string& word : job.argv) size += 8 + word.size();
  for (const auto& [key, value] : job.env) size += 16 + key.size() + value.size();
  return size;
}

void TrimExit(ExitRecord* record, size_t limit) {
  CutTo(&record->message, 16384, false);
  size_t fixed = 64 + record->message.size() + kRankBytes * record->ranks.size();
  size_t room = limit > fixed ? limit - fixed : 0;
  // The rank that failed first says most; the others share what it leaves.
  auto take = [&room](RankExit* rank, size_t share) {
    CutTo(&rank->message, share / 2, false);
    CutTo(&rank->tail, share - rank->message.size(), true);
    room -= std::min(room, rank->message.size() + rank->tail.size());
  };
  for (RankExit& rank : record->ranks)
    if (rank.rank == record->first_failed) take(&rank, std::min<size_t>(room, 16384));
  size_t others = record->ranks.size();
  for (RankExit& rank : record->ranks) {
    if (rank.rank != record->first_failed) take(&rank, room / std::max<size_t>(others, 1));
    --others;
  }
}

}  // namespace gt::worker
