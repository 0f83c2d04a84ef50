#include "worker/runtime/driver.h"

#include <algorithm>

#include "common/os/clock.h"
#include "worker/runtime/launcher_convert.h"

namespace gt::worker {
namespace {
constexpr Millis kLongestWait = 10 * kSecond;
}

Driver::Driver(Agent::Options options, TargetSource target, DriverHooks hooks)
    : agent_(std::move(options)),
      hooks_(std::move(hooks)),
      sync_(std::move(target), SyncEvents{
          .connected = [this](uint64_t stream) { queue_.Put(stream, Connected{}); },
          .disconnected = [this](uint64_t stream, Status why) { OnDisconnected(stream, why); },
          .orders = [this](uint64_t stream, NodeOrders orders) {
            queue_.Put(stream, OrdersReceived{std::move(orders)});
          },
      }) {}

std::function<void(std::vector<Input>)> Driver::launcher_inputs() {
  return [this](std::vector<Input> inputs) { queue_.PutAll(std::move(inputs)); };
}

// A refusal in words of the RPC itself: wrong token, wrong version. Before the first welcome that is a mistake of
// whoever set this worker up; afterwards the coordinator may have been set up anew, and its access file is read again.
void Driver::OnDisconnected(uint64_t stream, const Status& why) {
  bool answer = why.code() == Code::kUnauthenticated || why.code() == Code::kPermissionDenied ||
                why.code() == Code::kFailedPrecondition;
  if (answer && !welcomed_) {
    std::lock_guard lock(refused_mutex_);
    if (refused_.ok()) refused_ = why;
    queue_.Wake();
  }
  queue_.Put(stream, Disconnected{why.message()});
}

Status Driver::Run() {
  while (!stop_) {
    Now now = ReadClock();
    Millis deadline = agent_.NextDeadline();
    Millis wait = deadline == kNever ? kLongestWait : std::clamp<Millis>(deadline - now.mono, 0, kLongestWait);
    std::vector<Input> inputs;
    for (Arrival& arrival : queue_.TakeAll(wait))
      if (Current(arrival)) inputs.push_back(std::move(arrival.input));
    {
      std::lock_guard lock(refused_mutex_);
      if (!refused_.ok()) break;
    }
    if (stop_) break;
    Perform(agent_.Step(std::move(inputs), ReadClock()));
    if (agent_.session().state() == Session::State::kWelcomed) welcomed_ = true;
  }
  sync_.Close();
  queue_.Close();
  std::lock_guard lock(refused_mutex_);
  return refused_;
}

void Driver::Stop() {
  stop_ = true;
  queue_.Wake();
}

void Driver::Perform(std::vector<Action> actions) {
  std::vector<LauncherClient::Command> commands;
  for (Action& action : actions) {
    if (std::get_if<Connect>(&action)) {
      sync_.Connect(++stream_);
    } else if (std::get_if<Disconnect>(&action)) {
      ++stream_;  // nothing that it still says counts
      sync_.Close();
    } else if (auto* send = std::get_if<SendReport>(&action)) {
      sync_.Send(send->report);
    } else if (auto* refused = std::get_if<Refused>(&action)) {
      std::lock_guard lock(refused_mutex_);
      refused_ = Status(Code::kPermissionDenied, refused->why);
    } else if (auto* epoch = std::get_if<SaveEpoch>(&action)) {
      hooks_.save_epoch(epoch->epoch);
    } else if (auto* start = std::get_if<StartAttempt>(&action)) {
      commands.push_back(std::move(*start));
    } else if (auto* go = std::get_if<GoAttempt>(&action)) {
      commands.push_back(launcher::Go{.uid = go->uid, .generation = go->generation, .master_addr = go->master.address,
                                      .master_port = go->master.port});
    } else if (auto* stop = std::get_if<StopAttempt>(&action)) {
      commands.push_back(ToLauncher(*stop));
    } else if (auto* forget = std::get_if<ForgetAttempt>(&action)) {
      commands.push_back(launcher::Forget{.uid = forget->uid});
    } else if (auto* rearm = std::get_if<RearmStopAfter>(&action)) {
      commands.push_back(launcher::RearmStopAfter{.uid = rearm->uid, .remaining = rearm->remaining});
    } else if (auto* note = std::get_if<Note>(&action)) {
      hooks_.note(*note);
    }
  }
  if (launcher_) launcher_->Send(std::move(commands));
}

}  // namespace gt::worker
