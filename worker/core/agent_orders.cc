// What the coordinator says.
#include "worker/core/agent.h"

namespace gt::worker {

void Agent::Handle(OrdersReceived& input) {
  if (!session_.open()) return;
  NodeOrders& orders = input.orders;
  if (orders.welcome && !OnWelcome(*orders.welcome)) return;
  if (session_.state() != Session::State::kWelcomed) return Drop("orders before a welcome");
  session_.Heard(now_);
  if (orders.ping) pong_due_ = orders.ping;
  if (orders.beat) OnBeat(orders.beat);
  switch (session_.OnAck(orders.ack)) {
    case Session::Ack::kInvalid: return Drop("the coordinator acknowledged a report that was never sent");
    case Session::Ack::kCurrent: outbox_.Acknowledged(); break;
    case Session::Ack::kOld: break;
  }
  if (orders.seq == 0) return;
  switch (session_.OnOrders(orders.seq)) {
    case Session::Order::kGap: return Drop("orders are missing before number " + std::to_string(orders.seq));
    case Session::Order::kRepeated: session_.RepeatAck(); break;
    case Session::Order::kNew: OnContents(orders); break;
  }
}

bool Agent::OnWelcome(const Welcome& welcome) {
  if (!welcome.refused.empty()) {
    if (welcome.try_again) {
      Drop("not welcome yet: " + welcome.refused);
    } else {
      session_.Refused();
      Do(Refused{welcome.refused});
    }
    return false;
  }
  if (welcome.epoch < options_.hello.last_epoch) {
    Drop("the coordinator is of epoch " + std::to_string(welcome.epoch.value) + ", " +
         std::to_string(options_.hello.last_epoch.value) + " has been obeyed: an old copy of it?");
    return false;
  }
  if (welcome.epoch > options_.hello.last_epoch) {
    options_.hello.last_epoch = welcome.epoch;
    Do(SaveEpoch{welcome.epoch});
  }
  bool first = session_.state() != Session::State::kWelcomed;
  session_.Welcomed(welcome, now_);
  if (first) Tell({}, "joined: epoch " + std::to_string(welcome.epoch.value));
  return true;
}

void Agent::OnBeat(uint64_t beat) {
  std::optional<Millis> sent = session_.OnBeatEcho(beat);
  if (!sent || !launcher_known_) return;
  for (const Uid& uid : timed_) {
    Attempt* attempt = Find(uid);
    if (!attempt || !attempt->job) continue;
    Millis remaining = *sent + attempt->job->stop_after_ms - now_.mono;
    if (remaining > 0) Do(RearmStopAfter{uid, remaining});
  }
}

void Agent::OnContents(NodeOrders& orders) {
  if (orders.snapshot_begin) {
    in_orders_snapshot_ = true;
    named_.clear();
  }
  TakeJobs(orders);
  for (AttemptOrder& order : orders.attempts) {
    if (order.uid.empty()) continue;
    if (in_orders_snapshot_) named_.insert(order.uid);
    if (order.want == AttemptOrder::Want::kStop) OnStop(order);
    else OnRun(order);
  }
  for (const Uid& uid : orders.forget) OnForget(uid);
  for (JobId id : orders.drop_jobs) {
    auto found = jobs_.find(id);
    if (found == jobs_.end()) continue;
    job_bytes_ -= WireSize(*found->second);
    jobs_.erase(found);
  }
  if (orders.snapshot_end && in_orders_snapshot_) EndOrdersSnapshot();
  if (awaited_ == 0) session_.OrdersDone();
  if (job_bytes_ > options_.launch_bytes) Drop("too much launch data of past jobs is held");
}

void Agent::TakeJobs(NodeOrders& orders) {
  for (JobLaunch& job : orders.jobs) {
    JobId id = job.job_id;
    auto& slot = jobs_[id];
    if (slot) job_bytes_ -= WireSize(*slot);
    job_bytes_ += WireSize(job);
    slot = std::make_shared<const JobLaunch>(std::move(job));
  }
}

std::shared_ptr<const JobLaunch> Agent::FindJob(JobId id) const {
  auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : found->second;
}

void Agent::OnRun(AttemptOrder& order) {
  Attempt* attempt = Find(order.uid);
  if (!attempt) attempt = Add(order.uid, order.generation);
  if (attempt->stop || attempt->ended()) return;
  if (attempt->order && order.generation < attempt->order->generation) return;
  if (std::shared_ptr<const JobLaunch> job = FindJob(order.job_id)) attempt->job = std::move(job);
  if (attempt->job && attempt->job->stop_after_ms > 0) timed_.insert(order.uid);
  if (!attempt->journalled) attempt->generation = order.generation;
  attempt->order = std::move(order);
  if (!attempt->journalled && !attempt->awaited) attempt->awaited = true, ++awaited_;
  if (launcher_known_) Reconcile(attempt);
}

void Agent::OnStop(const AttemptOrder& order) {
  Attempt* attempt = Find(order.uid);
  if (!attempt) {
    attempt = Add(order.uid, order.generation);
    attempt->stop = StopWish{order.grace_ms, order.why};
    if (launcher_known_) Forgotten(attempt);
    return;
  }
  attempt->stop = StopWish{order.grace_ms, order.why};
  if (launcher_known_) Reconcile(attempt);
}

// What has not ended is never forgotten: the coordinator cannot have its exit.
void Agent::OnForget(const Uid& uid) {
  Attempt* attempt = Find(uid);
  if (attempt && !attempt->ended()) return Tell(uid, "told to forget an attempt that has not ended: ignored");
  Do(ForgetAttempt{uid});
  timed_.erase(uid);
  attempts_.erase(uid);
}

void Agent::EndOrdersSnapshot() {
  in_orders_snapshot_ = false;
  for (auto& [uid, attempt] : attempts_) {
    if (attempt.ended() || attempt.stop || named_.contains(uid)) continue;
    Tell(uid, "the coordinator does not want this attempt any more: stopping it");
    attempt.stop = StopWish{options_.stale_grace, Cause::kNone};
    if (launcher_known_) Reconcile(&attempt);
  }
  named_.clear();
}

}  // namespace gt::worker
