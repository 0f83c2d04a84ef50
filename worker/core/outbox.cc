#include "worker/core/outbox.h"

namespace gt::worker {

void Outbox::Mark(Attempt* attempt, uint8_t parts) {
  if (!snapshot_started_) return;  // the snapshot will carry it
  attempt->dirty |= parts;
  bool lazy = (parts & ~(kPartProgress | kPartCheckpoint)) == 0;
  bool Attempt::*queued = lazy ? &Attempt::in_lazy : &Attempt::in_urgent;
  if (attempt->*queued) return;
  attempt->*queued = true;
  (lazy ? lazy_ : urgent_).push_back(attempt->uid);
}

void Outbox::Reset() {
  for (auto& [uid, attempt] : *attempts_) attempt.dirty = 0, attempt.in_urgent = attempt.in_lazy = false;
  urgent_.clear();
  lazy_.clear();
  snapshot_.clear();
  told_unknown_.clear();
  snapshot_started_ = in_snapshot_ = begin_sent_ = false;
  lazy_due_ = 0;
}

void Outbox::StartSnapshot() {
  Reset();
  snapshot_started_ = in_snapshot_ = true;
  for (const auto& [uid, attempt] : *attempts_) snapshot_.push_back(uid);
}

bool Outbox::Add(Attempt* attempt, uint8_t parts, NodeReport* report, size_t* size) {
  AttemptReport entry = ToReport(*attempt, parts);
  size_t bytes = WireSize(entry);
  if (!report->attempts.empty() && *size + bytes > part_bytes_) return false;
  *size += bytes;
  attempt->dirty &= static_cast<uint8_t>(~parts);
  if (entry.unknown) told_unknown_.push_back(attempt->uid);
  report->attempts.push_back(std::move(entry));
  return true;
}

bool Outbox::FillSnapshot(NodeReport* report) {
  size_t size = 0;
  report->snapshot_begin = !begin_sent_;
  begin_sent_ = true;
  while (!snapshot_.empty()) {
    auto found = attempts_->find(snapshot_.front());
    if (found != attempts_->end() && !Add(&found->second, kAllParts, report, &size)) return true;
    snapshot_.pop_front();
  }
  report->snapshot_end = true;
  in_snapshot_ = false;
  return true;
}

bool Outbox::Drain(std::deque<Uid>* queue, bool Attempt::*queued, NodeReport* report, size_t* size) {
  while (!queue->empty()) {
    auto found = attempts_->find(queue->front());
    if (found != attempts_->end()) {
      Attempt* attempt = &found->second;
      if (attempt->dirty && !Add(attempt, attempt->dirty, report, size)) return false;
      attempt->*queued = false;
    }
    queue->pop_front();
  }
  return true;
}

bool Outbox::Fill(NodeReport* report, Now now) {
  if (!snapshot_started_) return false;
  if (in_snapshot_) return FillSnapshot(report);
  size_t size = 0;
  if (!Drain(&urgent_, &Attempt::in_urgent, report, &size)) return true;
  if (!lazy_.empty() && now.mono >= lazy_due_) {
    lazy_due_ = now.mono + lazy_every_;
    Drain(&lazy_, &Attempt::in_lazy, report, &size);
  }
  return !report->attempts.empty();
}

void Outbox::Acknowledged() {
  for (const Uid& uid : told_unknown_) {
    auto found = attempts_->find(uid);
    if (found != attempts_->end() && found->second.unknown) attempts_->erase(found);
  }
  told_unknown_.clear();
}

Millis Outbox::Due() const {
  if (in_snapshot_ || !urgent_.empty()) return 0;
  return lazy_.empty() ? kNever : lazy_due_;
}

}  // namespace gt::worker
