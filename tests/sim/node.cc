#include "tests/sim/node.h"

#include "gridtrain/v1/worker_service.pb.h"
#include "tests/sim/oracle.h"
#include "worker/runtime/convert.h"

namespace gt::sim {

Node::Node(Parts parts, size_t index, uint64_t seed)
    : launcher(parts.timeline, parts.oracle, parts.meetings, parts.plan, index, seed + 1),
      parts_(parts),
      index_(index),
      rng_(seed),
      uid_{rng_.Next(), rng_.Next()} {
  mono_offset_ = static_cast<Millis>(rng_.Below(1'000'000'000));
  launcher.SetWall(wall_offset_);
}

Now Node::now() const {
  return {.mono = parts_.timeline->now() + mono_offset_, .wall = parts_.timeline->now() + wall_offset_};
}

worker::Agent::Options Node::MakeOptions() {
  worker::Agent::Options options;
  options.hello = {.node_name = name(),
                   .node_uid = uid_,
                   .boot_id = "boot-" + std::to_string(boot_),
                   .version = "sim",
                   .session = {rng_.Next(), rng_.Next()},
                   .cluster_id = "sim",
                   .last_epoch = epoch_};
  options.inventory = MakeInventory();
  options.facts = {
      .address = options.inventory.address, .interface = "eth0", .trainer = "/trainer", .checkpoint_dir = "/ckpt"};
  options.session.seed = rng_.Next();
  options.part_bytes = 600;  // snapshots of a few attempts already come in parts
  return options;
}

worker::Inventory Node::MakeInventory() const {
  const NodePlan& plan = parts_.plan->nodes[index_];
  worker::Inventory inventory{
      .cpus = plan.cpus, .memory = 64ll << 30, .address = "10.0.0." + std::to_string(index_ + 1)};
  int gpus = parts_.timeline->now() < gpus_back_at_ ? plan.gpus / 2 : plan.gpus;
  for (int i = 0; i < gpus; ++i)
    inventory.gpus.push_back({"GPU-" + name() + "-" + std::to_string(i), "H100", 80ll << 30});
  return inventory;
}

void Node::StartWorker() {
  ++process_;
  agent_ = std::make_unique<worker::Agent>(MakeOptions());
  inbox_.clear();
  stream_ = 0;
  stream_open_ = false;
  stalled_until_ = 0;
  wake_at_ = kNever;
  launcher.Attach([this](worker::Input input) { Put(0, std::move(input)); });
  WakeAt(parts_.timeline->now());
}

void Node::OnConnected(StreamId stream, bool ok) {
  if (stream != stream_ || !agent_) {
    if (ok) parts_.network->Close(stream, kUp);
    return;
  }
  stream_open_ = ok;
  if (ok)
    Put(stream, worker::Connected{});
  else
    Put(stream, worker::Disconnected{"nobody answers"});
}

void Node::OnOrders(StreamId stream, const std::string& bytes) {
  if (stream != stream_ || !agent_) return;
  gridtrain::v1::NodeOrders wire;
  GT_ASSERT(wire.ParseFromString(bytes));
  Result<worker::NodeOrders> orders = worker::FromProto(wire);
  if (!orders.ok())
    return parts_.oracle->Fail("the coordinator sent orders that no worker takes: " + orders.status().message());
  Put(stream, worker::OrdersReceived{*std::move(orders)});
}

void Node::OnLost(StreamId stream) {
  if (stream != stream_ || !agent_) return;
  stream_open_ = false;
  Put(stream, worker::Disconnected{"the stream broke"});
}

void Node::Put(StreamId stream, worker::Input input) {
  inbox_.push_back({stream, std::move(input)});
  WakeAt(parts_.timeline->now());
}

void Node::WakeAt(Millis when) {
  when = std::max({when, parts_.timeline->now(), stalled_until_});
  if (when >= wake_at_) return;
  wake_at_ = when;
  parts_.timeline->At(when, [this, wake = ++wake_, process = process_] {
    if (wake == wake_ && process == process_ && agent_) Step();
  });
}

void Node::Step() {
  wake_at_ = kNever;
  Millis at = parts_.timeline->now();
  if (at < stalled_until_) return WakeAt(stalled_until_);
  if (at > steps_since_ + kSecond) steps_since_ = at, steps_ = 0;
  if (++steps_ > 5000) return parts_.oracle->Fail("the agent of " + name() + " spins");
  std::vector<worker::Input> inputs;
  for (Arrival& arrival : inbox_)
    if (arrival.stream == 0 || arrival.stream == stream_) inputs.push_back(std::move(arrival.input));
  inbox_.clear();
  Perform(agent_->Step(std::move(inputs), now()));
  if (!agent_) return;
  Millis deadline = agent_->NextDeadline();
  if (deadline != kNever) WakeAt(std::max(deadline - mono_offset_, at + 1));
}

void Node::Perform(std::vector<worker::Action> actions) {
  for (worker::Action& action : actions) {
    if (std::get_if<worker::Connect>(&action)) {
      stream_ = parts_.network->Connect(index_);
    } else if (auto* drop = std::get_if<worker::Disconnect>(&action)) {
      parts_.oracle->OnDropped(name(), drop->why);
      if (stream_open_) parts_.network->Close(stream_, kUp);
      stream_ = 0;
      stream_open_ = false;
    } else if (auto* send = std::get_if<worker::SendReport>(&action)) {
      gridtrain::v1::NodeReport wire;
      worker::ToProto(send->report, &wire);
      parts_.network->Send(stream_, kUp, wire.SerializeAsString());
    } else if (auto* refused = std::get_if<worker::Refused>(&action)) {
      parts_.oracle->Fail("worker " + name() + " was refused for good: " + refused->why);
    } else if (auto* save = std::get_if<worker::SaveEpoch>(&action)) {
      // On disk a little later: a crash in between forgets it.
      parts_.timeline->After(static_cast<Millis>(rng_.Below(50)), [this, process = process_, epoch = save->epoch] {
        if (process == process_) epoch_ = std::max(epoch_, epoch);
      });
    } else if (auto* note = std::get_if<worker::Note>(&action)) {
      if (note->text.find("has not ended") != std::string::npos) parts_.oracle->Fail(name() + " was " + note->text);
      parts_.oracle->Trace([&] { return name() + " " + ToHex(note->uid).substr(0, 8) + " " + note->text; });
    } else {
      launcher.Do(std::move(action));
    }
  }
}

void Node::CrashWorker(Millis down) {
  if (!agent_) return;
  agent_.reset();
  launcher.Detach();
  parts_.network->NodeDied(index_, false);
  parts_.timeline->After(down, [this, process = ++process_] {
    if (process == process_ && on_) StartWorker();
  });
}

void Node::StallWorker(Millis lasts) {
  stalled_until_ = std::max(stalled_until_, parts_.timeline->now() + lasts);
  wake_at_ = kNever;
  WakeAt(stalled_until_);
}

void Node::LoseGpus(Millis lasts) {
  gpus_back_at_ = parts_.timeline->now() + lasts;
  if (agent_) Put(0, worker::InventoryChanged{MakeInventory()});
  parts_.timeline->After(lasts, [this] {
    if (agent_) Put(0, worker::InventoryChanged{MakeInventory()});
  });
}

void Node::Reboot(Millis down, bool wipe) {
  if (!on_) return;
  on_ = false;
  agent_.reset();
  launcher.Reboot(wipe);
  parts_.network->NodeDied(index_, true);
  if (wipe) {
    uid_ = {rng_.Next(), rng_.Next()};
    epoch_ = {};
  }
  mono_offset_ = -parts_.timeline->now() - down;
  parts_.timeline->After(down, [this, process = ++process_] {
    on_ = true;
    ++boot_;
    launcher.Boot();
    if (process == process_) StartWorker();
  });
}

}  // namespace gt::sim
