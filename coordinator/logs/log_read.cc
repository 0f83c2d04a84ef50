#include <algorithm>

#include "coordinator/logs/frame_reader.h"
#include "coordinator/logs/log_store_impl.h"

namespace gt {

using logs::AttemptLog;
using logs::Frame;
using logs::FrameKind;
using logs::FrameReader;

namespace {

constexpr size_t kMaxRead = 8 << 20;
constexpr size_t kMergeWindow = 1 << 20;
constexpr uint64_t kMaxTailLines = 100'000;
constexpr int64_t kMaxTailBytes = 16 << 20;

// What of a frame its reader has not seen yet; false: nothing.
bool ToPiece(const Frame& frame, std::string data, uint64_t cursor, LogPiece* piece) {
  if (frame.end() <= cursor) return false;
  *piece = {.from = frame.from, .offset = frame.offset, .time_wall = frame.time_wall};
  if (frame.kind == FrameKind::kNotice) {
    piece->notice = std::move(data);
    return true;
  }
  if (cursor > frame.offset) data.erase(0, static_cast<size_t>(cursor - frame.offset));
  piece->offset = std::max(cursor, frame.offset);
  piece->data = std::move(data);
  return true;
}

uint64_t EndOf(const LogPiece& piece) { return piece.offset + piece.data.size(); }

// Gaps that were known when they arrived are notices in the log itself; this one came since, on disk.
LogPiece Damage(const LogPiece& next, uint64_t cursor) {
  return {.from = next.from, .offset = next.offset, .time_wall = next.time_wall,
          .notice = "[" + std::to_string(next.offset - cursor) + " bytes of output are damaged on disk here]"};
}

// Time within a stream never goes back, so that sorting by it cannot turn a stream around.
void SortByTime(std::vector<LogPiece>* pieces) {
  std::map<LogStream, Millis> newest;
  std::vector<std::pair<Millis, size_t>> order;
  for (size_t i = 0; i < pieces->size(); i++) {
    Millis& time = newest[(*pieces)[i].from];
    time = std::max(time, (*pieces)[i].time_wall);
    order.push_back({time, i});
  }
  std::sort(order.begin(), order.end());
  std::vector<LogPiece> sorted;
  sorted.reserve(pieces->size());
  for (auto [time, i] : order) sorted.push_back(std::move((*pieces)[i]));
  *pieces = std::move(sorted);
}

// The first `limit` bytes of the pieces, at least one byte or notice; moves the cursors behind them.
void TakeUpTo(size_t limit, std::vector<LogPiece>* pieces, LogCursors* cursors) {
  size_t kept = 0;
  for (; kept < pieces->size() && limit > 0; kept++) {
    LogPiece& piece = (*pieces)[kept];
    if (piece.data.size() > limit) piece.data.resize(limit);
    limit -= piece.data.size();
    (*cursors)[piece.from] = EndOf(piece);
  }
  pieces->resize(kept);
}

bool AtEnd(const AttemptLog& log, const LogSelection& selection, const LogCursors& cursors) {
  for (size_t i = 0; i < log.streams.size(); i++) {
    if (!selection.Has(log.streams[i])) continue;
    auto cursor = cursors.find(log.streams[i]);
    if ((cursor == cursors.end() ? 0 : cursor->second) < log.ends[i]) return false;
  }
  return true;
}

// Only then there is something to merge, and to look ahead for.
bool HasSeveral(const AttemptLog& log, const LogSelection& selection) {
  return std::count_if(log.streams.begin(), log.streams.end(), [&](const LogStream& from) { return selection.Has(from); }) > 1;
}

}  // namespace

Result<std::vector<LogPiece>> LogStore::ReadMerged(const Uid& uid, const LogSelection& selection, LogCursors* cursors,
                                                  size_t limit) {
  limit = std::clamp<size_t>(limit, 1, kMaxRead);
  GT_ASSIGN_OR_RETURN(std::shared_ptr<AttemptLog> log, impl_->Get(uid));
  std::vector<LogPiece> pieces;
  LogCursors seen = *cursors;
  size_t collected = 0, window = 0;
  // A wanted stream may be rare among others: after each stretch without a find, look up where it goes on.
  for (bool more = true; more && (pieces.empty() || collected < window);) {
    logs::ReadPlan plan;
    {
      std::lock_guard lock(impl_->mutex);
      if (AtEnd(*log, selection, seen)) break;
      window = HasSeveral(*log, selection) ? std::max(kMergeWindow, limit * 2) : limit;
      plan = logs::PlanRead(*log, selection, seen);
    }
    FrameReader reader(std::move(plan));
    int64_t found_at = reader.own_position();
    while (collected < window && reader.own_position() - found_at < 2 * logs::kPointEvery) {
      Frame frame;
      std::string data;
      GT_ASSIGN_OR_RETURN(more, reader.Next(&frame, &data));
      if (!more) break;
      LogPiece piece;
      if (!selection.Has(frame.from) || !ToPiece(frame, std::move(data), seen[frame.from], &piece)) continue;
      found_at = reader.own_position();
      if (piece.notice.empty() && piece.offset > seen[frame.from]) pieces.push_back(Damage(piece, seen[frame.from]));
      seen[frame.from] = EndOf(piece);
      collected += piece.data.size() + logs::kHeaderBytes;
      pieces.push_back(std::move(piece));
    }
  }
  SortByTime(&pieces);
  TakeUpTo(limit, &pieces, cursors);
  return pieces;
}

Result<std::vector<LogPiece>> LogStore::Read(const Uid& uid, LogStream from, uint64_t offset, size_t limit) {
  LogCursors cursors = {{from, offset}};
  return ReadMerged(uid, {.ranks = {from.rank}, .streams = {from.stream}}, &cursors, limit);
}

namespace {

// The cursors before the last `lines` lines of the pieces; streams without a piece there stay at their ends.
bool CursorsOfLastLines(const std::vector<LogPiece>& pieces, uint64_t lines, LogCursors* cursors) {
  bool last_byte = true;  // a newline at the very end ends the last line, it does not begin one
  for (size_t i = pieces.size(); i-- > 0;) {
    const LogPiece& piece = pieces[i];
    for (size_t at = piece.data.size(); at-- > 0; last_byte = false) {
      if (piece.data[at] != '\n' || last_byte) continue;
      if (--lines > 0) continue;
      if (at + 1 < piece.data.size()) (*cursors)[piece.from] = piece.offset + at + 1;
      return true;
    }
    (*cursors)[piece.from] = piece.offset;
  }
  return false;
}

}  // namespace

Result<LogCursors> LogStore::Tail(const Uid& uid, const LogSelection& selection, uint64_t lines) {
  GT_ASSIGN_OR_RETURN(std::shared_ptr<AttemptLog> log, impl_->Get(uid));
  for (int64_t back = 1 << 20;; back *= 4) {
    logs::ReadPlan plan;
    LogCursors ends;
    bool whole;
    {
      std::lock_guard lock(impl_->mutex);
      for (const auto& [from, end] : log->Sizes())
        if (selection.Has(from)) ends[from] = end;
      if (lines == 0) return ends;
      plan = logs::PlanRead(*log, selection, {});
      auto later = [&](const logs::Point& point) { return point.position <= log->own_bytes - back; };
      auto start = std::partition_point(log->points.begin(), log->points.end(), later);
      whole = start == log->points.begin();
      if (!whole) plan.own_from = (start - 1)->position, plan.small.clear();
    }
    FrameReader reader(std::move(plan));
    std::vector<LogPiece> pieces;
    int64_t collected = 0;
    for (;;) {
      Frame frame;
      std::string data;
      GT_ASSIGN_OR_RETURN(bool more, reader.Next(&frame, &data));
      if (!more) break;
      LogPiece piece;
      if (selection.Has(frame.from) && ToPiece(frame, std::move(data), 0, &piece)) {
        collected += static_cast<int64_t>(piece.data.size());
        pieces.push_back(std::move(piece));
      }
    }
    SortByTime(&pieces);
    LogCursors cursors = ends;
    bool enough = CursorsOfLastLines(pieces, std::min(lines, kMaxTailLines), &cursors);
    if (enough || whole || collected >= kMaxTailBytes) return cursors;
  }
}

}  // namespace gt
