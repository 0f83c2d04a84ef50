#include "worker/runtime/convert.h"

namespace gt::worker {
namespace v1 = gridtrain::v1;
namespace {

static_assert(static_cast<int>(AttemptPhase::kEnded) == v1::PHASE_ENDED);
static_assert(static_cast<int>(Cause::kTimeLimit) == v1::CAUSE_TIME_LIMIT);
static_assert(static_cast<int>(ExitWhy::kExitSkew) == v1::ExitRecord::EXIT_SKEW);

Uid FromProto(const v1::WireUid& uid) { return Uid{uid.high(), uid.low()}; }

void ToProto(const NodeHello& hello, v1::NodeHello* out) {
  out->set_node_name(hello.node_name);
  UidToProto(hello.node_uid, out->mutable_node_uid());
  out->set_boot_id(hello.boot_id);
  out->set_protocol(hello.protocol);
  out->set_version(hello.version);
  UidToProto(hello.session, out->mutable_session());
  out->set_cluster_id(hello.cluster_id);
  out->set_last_epoch(hello.last_epoch.value);
}

void ToProto(const Inventory& inventory, v1::Inventory* out) {
  out->set_cpus(inventory.cpus);
  out->set_memory(inventory.memory);
  for (const Gpu& gpu : inventory.gpus) {
    v1::GpuInfo* info = out->add_gpus();
    info->set_uuid(gpu.uuid);
    info->set_model(gpu.model);
    info->set_memory(gpu.memory);
  }
  out->set_address(inventory.address);
  for (const auto& [key, value] : inventory.labels) (*out->mutable_labels())[key] = value;
  out->set_containment(inventory.containment);
}

void ToProto(const RankExit& rank, v1::RankExit* out) {
  out->set_rank(rank.rank);
  out->set_code(rank.code);
  out->set_signal(rank.signal);
  if (rank.core_dumped) out->set_core_dumped(true);
  out->set_started_ms(rank.started_ms);
  out->set_ended_ms(rank.ended_ms);
  out->set_stdout_bytes(rank.stdout_bytes);
  out->set_stderr_bytes(rank.stderr_bytes);
  if (rank.lost_bytes) out->set_lost_bytes(rank.lost_bytes);
  if (!rank.tail.empty()) out->set_tail(rank.tail);
  if (!rank.message.empty()) out->set_message(rank.message);
  if (rank.peak_memory) out->set_peak_memory(rank.peak_memory);
}

void ToProto(const ExitRecord& exit, v1::ExitRecord* out) {
  out->set_why(static_cast<v1::ExitRecord::Why>(exit.why));
  if (!exit.message.empty()) out->set_message(exit.message);
  if (exit.why == ExitWhy::kRankFailed) out->set_first_failed(exit.first_failed);
  if (exit.failed_at_ms) out->set_failed_at_ms(exit.failed_at_ms);
  if (exit.out_of_memory) out->set_out_of_memory(true);
  for (const RankExit& rank : exit.ranks) ToProto(rank, out->add_ranks());
  out->set_ended_ms(exit.ended_ms);
}

void ToProto(const Progress& progress, v1::Progress* out) {
  out->set_step(progress.step);
  out->set_total_steps(progress.total_steps);
  out->set_samples(progress.samples);
  out->set_phase(progress.phase);
  for (const auto& [name, value] : progress.metrics) (*out->mutable_metrics())[name] = value;
}

void ToProto(const Formation& formation, v1::Formation* out) {
  out->set_joined(formation.joined.value);
  out->set_survives(formation.survives);
  if (formation.store.known()) out->set_store_addr(formation.store.address), out->set_store_port(formation.store.port);
  out->set_step(formation.step);
  out->set_redone_samples(formation.redone_samples);
  for (const RankDown& down : formation.down) {
    v1::RankDown* one = out->add_down();
    one->set_born(down.born.value);
    ToProto(down.exit, one->mutable_exit());
  }
}

void ToProto(const AttemptReport& report, v1::AttemptReport* out) {
  UidToProto(report.uid, out->mutable_uid());
  out->set_generation(report.generation.value);
  if (report.phase) out->set_phase(static_cast<v1::WirePhase>(*report.phase));
  if (report.endpoint) {
    out->set_endpoint_addr(report.endpoint->address);
    out->set_endpoint_port(report.endpoint->port);
  }
  if (report.exit) ToProto(*report.exit, out->mutable_exit());
  if (report.progress) ToProto(*report.progress, out->mutable_progress());
  if (report.checkpoint) {
    out->mutable_checkpoint()->set_step(report.checkpoint->step);
    out->mutable_checkpoint()->set_path(report.checkpoint->path);
    out->mutable_checkpoint()->set_bytes(report.checkpoint->bytes);
  }
  if (report.formation) ToProto(*report.formation, out->mutable_formation());
  if (report.unknown) out->set_unknown(true);
}

JobLaunch FromProto(const v1::JobLaunch& wire) {
  JobLaunch job;
  job.job_id = JobId{wire.job_id()};
  job.argv.assign(wire.argv().begin(), wire.argv().end());
  job.env.assign(wire.env().begin(), wire.env().end());
  job.workdir = wire.workdir();
  job.spec_json = wire.spec_json();
  job.contract = wire.contract();
  job.processes_per_node = wire.processes_per_node();
  job.cpus_per_process = wire.cpus_per_process();
  job.memory_limit = wire.memory_limit();
  job.time_limit_ms = wire.time_limit_ms();
  job.grace_ms = wire.grace_ms();
  job.fail_grace_ms = wire.fail_grace_ms();
  job.stop_after_ms = wire.stop_after_ms();
  job.checkpoint_dir = wire.checkpoint_dir();
  job.array = wire.array();
  job.max_restarts = wire.max_restarts();
  job.gpus_per_node = wire.gpus_per_node();
  job.reform_timeout_ms = wire.reform_timeout_ms();
  return job;
}

Result<AttemptOrder> FromProto(const v1::AttemptOrder& wire) {
  AttemptOrder order;
  order.uid = FromProto(wire.uid());
  if (order.uid.empty()) return Status(Code::kInvalidArgument, "an order without an attempt");
  order.want = wire.want() == v1::AttemptOrder::STOP ? AttemptOrder::Want::kStop : AttemptOrder::Want::kRun;
  order.job_id = JobId{wire.job_id()};
  order.task_index = wire.task_index();
  order.number = wire.number();
  order.generation = Generation{wire.generation()};
  order.group_rank = wire.group_rank();
  order.group_world_size = wire.has_group_world_size() ? wire.group_world_size() : 1;
  order.gpu_uuids.assign(wire.gpu_uuids().begin(), wire.gpu_uuids().end());
  if (wire.master_port() > 65535) {
    return Status(Code::kInvalidArgument, "an order with port " + std::to_string(wire.master_port()));
  }
  order.master = Endpoint{wire.master_addr(), static_cast<uint16_t>(wire.master_port())};
  order.local_endpoint = wire.local_endpoint();
  order.resume_from = wire.resume_from();
  order.grace_ms = wire.grace_ms() < 0 ? 0 : wire.grace_ms();
  order.why = static_cast<Cause>(wire.why());
  for (uint32_t born : wire.born()) order.born.push_back(Generation{born});
  return order;
}

}  // namespace

void UidToProto(const Uid& uid, v1::WireUid* out) {
  out->set_high(uid.high);
  out->set_low(uid.low);
}

void ToProto(const NodeReport& report, v1::NodeReport* out) {
  if (report.seq) out->set_seq(report.seq);
  out->set_ack(report.ack);
  if (report.hello) ToProto(*report.hello, out->mutable_hello());
  if (report.inventory) ToProto(*report.inventory, out->mutable_inventory());
  for (const AttemptReport& attempt : report.attempts) ToProto(attempt, out->add_attempts());
  if (report.snapshot_begin) out->set_snapshot_begin(true);
  if (report.snapshot_end) out->set_snapshot_end(true);
  if (report.beat) out->set_beat(report.beat);
  if (report.pong) out->set_pong(report.pong);
}

Result<NodeOrders> FromProto(const v1::NodeOrders& wire) {
  NodeOrders orders;
  orders.seq = wire.seq();
  orders.ack = wire.ack();
  if (wire.has_welcome()) {
    orders.welcome = Welcome{.epoch = Epoch{wire.welcome().epoch()},
                             .beat_ms = wire.welcome().beat_ms(),
                             .lease_ms = wire.welcome().lease_ms(),
                             .refused = wire.welcome().refused(),
                             .try_again = wire.welcome().try_again()};
  }
  for (const v1::JobLaunch& job : wire.jobs()) orders.jobs.push_back(FromProto(job));
  orders.attempts.reserve(static_cast<size_t>(wire.attempts_size()));
  for (const v1::AttemptOrder& attempt : wire.attempts()) {
    GT_ASSIGN_OR_RETURN(AttemptOrder order, FromProto(attempt));
    orders.attempts.push_back(std::move(order));
  }
  for (const v1::WireUid& uid : wire.forget()) orders.forget.push_back(FromProto(uid));
  for (uint64_t id : wire.drop_jobs()) orders.drop_jobs.push_back(JobId{id});
  orders.snapshot_begin = wire.snapshot_begin();
  orders.snapshot_end = wire.snapshot_end();
  orders.beat = wire.beat();
  orders.ping = wire.ping();
  return orders;
}

}  // namespace gt::worker
