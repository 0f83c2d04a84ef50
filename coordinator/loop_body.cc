#include "coordinator/loop_body.h"

namespace gt {

void LoopBody::Refuse(LoopItem* item, const Status& why) {
  if (item->done) item->done(why, {});
}

void LoopBody::Turn(std::span<const Heard> heard, std::vector<LoopItem> items, Now now) {
  GT_ASSERT(!held_);
  std::vector<Command> commands;
  commands.reserve(items.size());
  for (LoopItem& item : items) {
    if (item.admit) {
      if (Status admitted = item.admit(engine_->state()); !admitted.ok()) {
        Refuse(&item, admitted);
        continue;
      }
    }
    waiting_.push_back({std::move(item.done), commands.size(), item.commands.size()});
    for (Command& command : item.commands) commands.push_back(std::move(command));
  }
  batch_ = engine_->Run(heard, commands, now);
  GT_ASSERT(batch_.replies.size() == commands.size());
  more_ = batch_.more;
  Commit();
}

void LoopBody::Retry() {
  GT_ASSERT(held_);
  if (!for_good_) Commit();
}

void LoopBody::Commit() {
  if (batch_.persistent()) {
    Status status = outputs_.commit(batch_, engine_->state());
    held_ = status.code() == Code::kResourceExhausted;
    held_reason_ = status.message();
    if (held_) return;
    if (!status.ok()) return outputs_.fatal(status);
  }
  held_ = false;
  Finish();
}

void LoopBody::Finish() {
  if (outputs_.publish) outputs_.publish(batch_, engine_->state());
  engine_->Committed(batch_);
  std::span<const Reply> replies = batch_.replies;
  for (Waiting& waiting : waiting_)
    if (waiting.done) waiting.done(OkStatus(), replies.subspan(waiting.first, waiting.count));
  waiting_.clear();
  for (uint64_t session : engine_->sessions().TakeEnded())
    if (outputs_.end) outputs_.end(session);
  for (uint64_t session : engine_->sessions().Due())
    if (std::optional<Orders> orders = engine_->sessions().NextOrders(session, engine_->state()))
      outputs_.send(*std::move(orders), engine_->state());
}

}  // namespace gt
