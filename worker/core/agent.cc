#include "worker/core/agent.h"

#include <algorithm>

namespace gt::worker {

Agent::Agent(Options options)
    : options_(std::move(options)),
      session_(options_.session),
      outbox_(&attempts_, options_.part_bytes, options_.progress_every) {}

std::vector<Action> Agent::Step(std::vector<Input> inputs, Now now) {
  now_ = now;
  actions_.clear();
  for (Input& input : inputs) std::visit([this](auto& what) { Handle(what); }, input);
  if (session_.Silent(now_)) Drop("the coordinator has been silent for too long");
  if (session_.StartConnecting(now_)) Do(Connect{});
  Flush();
  return std::move(actions_);
}

Millis Agent::NextDeadline() const {
  Millis deadline = session_.Deadline();
  if (session_.open() && session_.can_send() && !hello_due_) deadline = std::min(deadline, outbox_.Due());
  return deadline;
}

void Agent::Handle(Connected&) {
  if (session_.state() != Session::State::kConnecting) return;
  session_.Opened(now_);
  outbox_.Reset();
  hello_due_ = inventory_due_ = true;
  pong_due_ = 0;
  in_orders_snapshot_ = false;
  named_.clear();
  jobs_.clear();
  job_bytes_ = 0;
  for (auto& [uid, attempt] : attempts_) attempt.awaited = false;
  awaited_ = 0;
}

void Agent::Handle(Disconnected& input) {
  if (session_.state() != Session::State::kConnecting && !session_.open()) return;
  // Once, not at each try.
  if (session_.state() == Session::State::kWelcomed || input.why != last_failure_) Tell({}, "disconnected: " + input.why);
  last_failure_ = std::move(input.why);
  session_.Closed(now_);
}

void Agent::Handle(InventoryChanged& input) {
  std::string containment = std::move(options_.inventory.containment);
  options_.inventory = std::move(input.inventory);
  options_.inventory.containment = std::move(containment);
  inventory_due_ = true;
}

void Agent::Handle(RankSaid& input) {
  Attempt* attempt = Find(input.uid);
  if (!attempt || attempt->ended()) return;
  uint8_t parts = 0;
  if (input.progress) attempt->progress = std::move(input.progress), parts |= kPartProgress;
  if (input.checkpoint) attempt->checkpoint = std::move(input.checkpoint), parts |= kPartCheckpoint;
  if (parts) outbox_.Mark(attempt, parts);
}

Attempt* Agent::Find(const Uid& uid) {
  auto found = attempts_.find(uid);
  return found == attempts_.end() ? nullptr : &found->second;
}

Attempt* Agent::Add(const Uid& uid, Generation generation) {
  Attempt* attempt = &attempts_[uid];
  attempt->uid = uid;
  attempt->generation = generation;
  return attempt;
}

void Agent::Drop(const std::string& why) {
  if (!session_.open()) return;
  Do(Disconnect{why});
  Tell({}, "dropped the connection: " + why);
  session_.Closed(now_);
}

// Everything that is due, in one message. The complete list waits until the launcher has said what it holds.
void Agent::Flush() {
  if (!session_.open()) return;
  NodeReport report;
  bool contents = false;
  if (session_.can_send()) {
    contents = hello_due_ || inventory_due_;
    if (std::exchange(hello_due_, false)) report.hello = options_.hello;
    if (std::exchange(inventory_due_, false)) report.inventory = options_.inventory;
    if (launcher_known_ && !outbox_.snapshot_started()) outbox_.StartSnapshot();
    contents = outbox_.Fill(&report, now_) || contents;
    if (contents) report.seq = session_.TakeSeq();
  }
  report.beat = session_.TakeBeat(now_);
  report.pong = std::exchange(pong_due_, 0);
  bool ack = session_.TakeAckDue();
  report.ack = session_.ack();
  if (contents || ack || report.beat || report.pong) Do(SendReport{std::move(report)});
}

}  // namespace gt::worker
