#include "coordinator/loop.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <future>

namespace gt {
namespace {

constexpr Millis kLongestSleep = kSecond;  // a suspended machine's clocks may disagree with the condition variable's

Status Stopping() { return {Code::kUnavailable, "the coordinator is stopping"}; }

size_t CountSubmits(const LoopItem& item) {
  return std::count_if(item.commands.begin(), item.commands.end(), [](const Command& c) { return std::holds_alternative<SubmitJob>(c); });
}

bool EndsASession(const LoopItem& item) {
  return std::any_of(item.commands.begin(), item.commands.end(), [](const Command& c) { return std::holds_alternative<NodeGone>(c); });
}

}  // namespace

void Loop::Start() {
  held_ = body_->held();
  held_reason_ = body_->held_reason();
  thread_ = std::thread([this] { Run(); });
}

void Loop::Stop() {
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    Wake(std::move(lock));
  }
  if (thread_.joinable()) thread_.join();
}

// Told after the lock is free, so that the woken thread does not meet it taken; and once a sleep.
void Loop::Wake(std::unique_lock<std::mutex> lock) {
  bool sleeps = std::exchange(sleeping_, false);
  lock.unlock();
  if (sleeps) wake_.notify_one();
}

Status Loop::Push(LoopItem item) {
  std::unique_lock lock(mutex_);
  if (stopping_) return Stopping();
  if (held_) return {Code::kResourceExhausted, held_reason_};
  if (client_commands_ + item.commands.size() > options_.max_commands)
    return {Code::kResourceExhausted, "the coordinator has too many requests waiting; try again"};
  client_commands_ += item.commands.size();
  clients_.push_back(std::move(item));
  Wake(std::move(lock));
  return OkStatus();
}

void Loop::PushFromWorker(LoopItem item) {
  std::unique_lock lock(mutex_);
  if (stopping_) {
    lock.unlock();
    return LoopBody::Refuse(&item, Stopping());
  }
  workers_.push_back(std::move(item));
  if (!held_) Wake(std::move(lock));
}

Status Loop::Query(std::function<void(const LoopView*)> question) {
  std::unique_lock lock(mutex_);
  if (stopping_) return Stopping();
  if (queries_.size() >= options_.max_queries)
    return {Code::kResourceExhausted, "the coordinator has too many requests waiting; try again"};
  queries_.push_back(std::move(question));
  Wake(std::move(lock));
  return OkStatus();
}

Status Loop::QueryAndWait(std::function<void(const LoopView&)> question, Millis timeout) {
  auto answered = std::make_shared<std::promise<bool>>();
  std::future<bool> answer = answered->get_future();
  GT_RETURN_IF_ERROR(Query([answered, question = std::move(question)](const LoopView* view) {
    if (view != nullptr) question(*view);
    answered->set_value(view != nullptr);
  }));
  if (answer.wait_for(std::chrono::milliseconds(timeout)) != std::future_status::ready)
    return {Code::kUnavailable, "the coordinator is busy; try again"};
  return answer.get() ? OkStatus() : Stopping();
}

void Loop::Run() {
  pthread_setname_np(pthread_self(), "gt-loop");
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    Sleep(&lock);
    if (stopping_) break;
    Taken taken = Take();
    lock.unlock();
    Work(std::move(taken));
    lock.lock();
    held_ = body_->held();
    if (held_) held_reason_ = body_->held_reason();
  }
  std::deque<LoopItem> items = std::move(clients_);
  for (LoopItem& item : workers_) items.push_back(std::move(item));
  auto queries = std::move(queries_);
  clients_.clear(), workers_.clear(), queries_.clear();
  lock.unlock();
  for (LoopItem& item : items) LoopBody::Refuse(&item, Stopping());
  for (auto& query : queries) query(nullptr);
}

void Loop::Sleep(std::unique_lock<std::mutex>* lock) {
  Millis deadline = held_ ? next_retry_ : body_->NextDeadline();
  if (deadline == 0) return;
  auto has_work = [this] { return stopping_ || !clients_.empty() || !queries_.empty() || (!held_ && !workers_.empty()); };
  if (has_work()) return;
  Millis wait = deadline == kNever ? kLongestSleep : std::clamp<Millis>(deadline - options_.clock().mono, 0, kLongestSleep);
  if (wait == 0) return;
  sleeping_ = true;
  wake_.wait_for(*lock, std::chrono::milliseconds(wait), has_work);
  sleeping_ = false;
}

Loop::Taken Loop::Take() {
  Taken taken;
  taken.queries.swap(queries_);
  size_t submits = 0;
  while (!held_ && !workers_.empty() && taken.items.size() < options_.batch_items) {
    taken.items.push_back(std::move(workers_.front()));
    workers_.pop_front();
  }
  while (!clients_.empty() && taken.items.size() < options_.batch_items) {
    size_t more = CountSubmits(clients_.front());
    if (submits > 0 && submits + more > options_.batch_submits) break;
    submits += more;
    client_commands_ -= clients_.front().commands.size();
    taken.items.push_back(std::move(clients_.front()));
    clients_.pop_front();
  }
  return taken;
}

void Loop::Work(Taken taken) {
  Now now = options_.clock();
  if (body_->held()) {
    WorkHeld(&taken, now);
  } else {
    std::vector<Heard> heard;
    // What a session that ends was heard last must not go with it.
    bool ends = std::any_of(taken.items.begin(), taken.items.end(), EndsASession);
    if (ends || now.mono >= next_gather_ || now.mono >= body_->NextDeadline()) {
      heard = heard_.Gather();
      next_gather_ = now.mono + options_.gather_every;
    }
    body_->Turn(heard, std::move(taken.items), now);
    next_retry_ = now.mono + options_.retry_every;
  }
  LoopView view{body_->state(), body_->policy(), now, !body_->ahead(), body_->held() ? body_->held_reason() : ""};
  for (auto& query : taken.queries) query(&view);
}

// Only clients' items were taken while held: workers' reports wait in their queue.
void Loop::WorkHeld(Taken* taken, Now now) {
  for (LoopItem& item : taken->items)
    LoopBody::Refuse(&item, {Code::kResourceExhausted, body_->held_reason()});
  if (now.mono < next_retry_) return;
  next_retry_ = now.mono + options_.retry_every;
  body_->Retry();
}

}  // namespace gt
