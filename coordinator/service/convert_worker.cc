#include <algorithm>

#include "common/text/text.h"
#include "coordinator/service/convert.h"

namespace gt {
namespace {

constexpr size_t kMaxText = 4096, kMaxName = 256, kMaxLabels = 256, kMaxMetrics = 64;

Status Bad(const std::string& what) { return {Code::kInvalidArgument, what}; }

Result<Inventory> ConvertInventory(const wire::Inventory& in) {
  if (in.cpus() < 0 || in.cpus() > 1'000'000 || in.memory() < 0) return Bad("inventory: CPUs or memory out of range");
  if (in.gpus_size() > static_cast<int>(kMaxGpusPerNode)) return Bad("inventory: too many GPUs");
  if (in.labels_size() > static_cast<int>(kMaxLabels)) return Bad("inventory: too many labels");
  Inventory out;
  out.cpus = in.cpus();
  out.memory = in.memory();
  out.address = Clean(in.address(), kMaxName);
  out.containment = Clean(in.containment(), kMaxName);
  std::set<std::string> uuids;
  for (const wire::GpuInfo& gpu : in.gpus()) {
    std::string uuid = Clean(gpu.uuid(), kMaxName);
    if (uuid.empty() || !uuids.insert(uuid).second) return Bad("inventory: a GPU without a UUID of its own");
    out.gpus.push_back({uuid, Clean(gpu.model(), kMaxName), std::max<int64_t>(gpu.memory(), 0), {}});
  }
  for (const auto& [key, value] : in.labels()) out.labels[Clean(key, kMaxName)] = Clean(value, kMaxName);
  return out;
}

// The rank that failed first; nullptr when none is named or it is not there.
const wire::RankExit* FirstFailed(const wire::ExitRecord& record) {
  if (!record.has_first_failed()) return nullptr;
  for (const wire::RankExit& rank : record.ranks())
    if (rank.rank() == record.first_failed()) return &rank;
  return nullptr;
}

int32_t HighestExitCode(const wire::ExitRecord& record) {
  int32_t highest = -1;
  for (const wire::RankExit& rank : record.ranks())
    highest = std::max(highest, rank.signal() != 0 ? 128 + rank.signal() : rank.code());
  return highest;
}

// Stored as it came when that is small enough, else without what ranks printed.
std::string StoredExit(const wire::ExitRecord& record) {
  std::string bytes = record.SerializeAsString();
  if (bytes.size() <= kMaxExitRecordBytes) return bytes;
  wire::ExitRecord smaller = record;
  for (wire::RankExit& rank : *smaller.mutable_ranks()) {
    if (record.has_first_failed() && rank.rank() == record.first_failed()) continue;
    rank.clear_tail();
    rank.clear_message();
  }
  return smaller.SerializeAsString();
}

std::string LastOf(const std::string& tail) { return tail.substr(tail.size() > kMaxText ? tail.size() - kMaxText : 0); }

ExitReport ConvertExit(const wire::ExitRecord& in) {
  ExitReport out;
  out.why = static_cast<ExitReport::Why>(in.why());  // the values are equal, see the wire's enum
  out.message = Clean(in.message(), kMaxText);
  out.out_of_memory = in.out_of_memory();
  out.exit_code = HighestExitCode(in);
  if (in.has_first_failed()) out.first_failed = static_cast<int32_t>(std::min<uint32_t>(in.first_failed(), 1u << 30));
  if (const wire::RankExit* rank = FirstFailed(in)) {
    out.code = rank->code();
    out.signal = rank->signal();
    out.tail = LastOf(rank->tail());
    // The record's own line repeats code and signal; what the program said is the news.
    if (out.message.empty() || out.why == ExitReport::Why::kRankFailed) out.message = Clean(rank->message(), kMaxText);
  }
  out.record = StoredExit(in);
  return out;
}

Progress ConvertProgress(const wire::Progress& in, Millis wall) {
  Progress out;
  out.step = in.step();
  out.total_steps = in.total_steps();
  out.samples = in.samples();
  out.phase = Clean(in.phase(), kMaxName);
  for (const auto& [key, value] : in.metrics()) {
    if (out.metrics.size() >= kMaxMetrics) break;
    out.metrics[Clean(key, kMaxName)] = value;
  }
  out.at_wall = wall;
  return out;
}

Result<Formation> ConvertFormation(const wire::Formation& in) {
  if (in.store_port() > 65535) return Bad("a store's port is out of range");
  if (in.down_size() > static_cast<int>(kMaxRanksPerNode)) return Bad("more ranks are down than a node can have");
  Formation out;
  out.joined = {in.joined()};
  out.survives = in.survives();
  out.addr = Clean(in.store_addr(), kMaxName);
  out.port = static_cast<uint16_t>(in.store_port());
  out.step = in.step();
  out.redone_samples = in.redone_samples();
  for (const wire::RankDown& down : in.down()) {
    const wire::RankExit& exit = down.exit();
    out.down.push_back({.rank = exit.rank(), .born = {down.born()}, .code = exit.code(), .signal = exit.signal(),
                        .message = Clean(exit.message(), kMaxText), .tail = LastOf(exit.tail())});
  }
  return out;
}

Result<AttemptReport> ConvertAttempt(const wire::AttemptReport& in, Millis wall) {
  AttemptReport out;
  out.uid = FromWire(in.uid());
  if (out.uid.empty()) return Bad("a report of an attempt without a uid");
  out.generation = {in.generation()};
  // Absent means unchanged: PLACED is the least that an attempt can be, and phases never go back.
  out.phase = static_cast<AttemptPhase>(in.phase());
  out.unknown = in.unknown();
  if (in.endpoint_port() > 65535) return Bad("an endpoint's port is out of range");
  out.endpoint_addr = Clean(in.endpoint_addr(), kMaxName);
  out.endpoint_port = static_cast<uint16_t>(in.endpoint_port());
  if (in.has_exit()) out.exit = ConvertExit(in.exit());
  if (in.has_progress()) out.progress = ConvertProgress(in.progress(), wall);
  if (in.has_checkpoint() && in.checkpoint().path().size() <= kMaxText) {
    out.checkpoint = in.checkpoint().path();
    out.checkpoint_step = in.checkpoint().step();
  }
  if (in.has_formation()) {
    GT_ASSIGN_OR_RETURN(out.formation, ConvertFormation(in.formation()));
  }
  return out;
}

}  // namespace

Uid FromWire(const wire::WireUid& uid) { return {uid.high(), uid.low()}; }

void ToWire(const Uid& uid, wire::WireUid* out) {
  out->set_high(uid.high);
  out->set_low(uid.low);
}

std::string Clean(std::string_view text, size_t limit) {
  auto cut = [limit](std::string_view long_text) {
    size_t end = std::min(limit, long_text.size());
    while (end > 0 && end < long_text.size() && (static_cast<unsigned char>(long_text[end]) & 0xC0) == 0x80) end--;
    return long_text.substr(0, end);
  };
  return std::string(cut(Printable(cut(text))));
}

Result<NodeHello> ConvertHello(const wire::NodeReport& report, uint64_t session) {
  const wire::NodeHello& in = report.hello();
  NodeHello out;
  out.session = session;
  out.name = in.node_name();
  if (!IsNodeName(out.name)) return Bad("the node's name is empty, too long or not printable");
  out.uid = FromWire(in.node_uid());
  if (out.uid.empty()) return Bad("hello without node_uid");
  out.boot_id = Clean(in.boot_id(), kMaxName);
  out.version = Clean(in.version(), kMaxName);
  out.cluster_id = Clean(in.cluster_id(), kMaxName);
  out.last_epoch = {in.last_epoch()};
  GT_ASSIGN_OR_RETURN(out.inventory, ConvertInventory(report.inventory()));
  return out;
}

Result<NodeReport> ConvertReport(const wire::NodeReport& report, uint64_t session, Millis wall) {
  if (report.attempts_size() > static_cast<int>(kMaxReportAttempts)) return Bad("too many attempts in one report");
  NodeReport out;
  out.session = session;
  out.seq = report.seq();
  out.ack = report.ack();
  out.snapshot_begin = report.snapshot_begin();
  out.snapshot_end = report.snapshot_end();
  if (report.has_inventory() && !report.has_hello()) {
    GT_ASSIGN_OR_RETURN(out.inventory, ConvertInventory(report.inventory()));
  }
  out.attempts.reserve(report.attempts_size());
  for (const wire::AttemptReport& attempt : report.attempts()) {
    GT_ASSIGN_OR_RETURN(AttemptReport converted, ConvertAttempt(attempt, wall));
    out.attempts.push_back(std::move(converted));
  }
  return out;
}

void ConvertOrders(const Orders& orders, wire::NodeOrders* out) {
  if (orders.seq != 0) out->set_seq(orders.seq);
  if (orders.ack != 0) out->set_ack(orders.ack);
  if (orders.snapshot_begin) out->set_snapshot_begin(true);
  if (orders.snapshot_end) out->set_snapshot_end(true);
  for (const Uid& uid : orders.forget) ToWire(uid, out->add_forget());
  for (JobId job : orders.drop_jobs) out->add_drop_jobs(job.value);
  out->mutable_attempts()->Reserve(static_cast<int>(orders.attempts.size()));
  for (const AttemptOrder& in : orders.attempts) {
    wire::AttemptOrder* attempt = out->add_attempts();
    ToWire(in.uid, attempt->mutable_uid());
    attempt->set_want(in.stop ? wire::AttemptOrder::STOP : wire::AttemptOrder::RUN);
    if (in.stop) {
      attempt->set_grace_ms(in.grace);
      attempt->set_why(static_cast<wire::WireCause>(in.why));
      continue;
    }
    attempt->set_job_id(in.job.value);
    attempt->set_task_index(in.task_index);
    attempt->set_number(in.number);
    attempt->set_generation(in.generation.value);
    attempt->set_group_rank(in.group_rank);
    attempt->set_group_world_size(in.group_world_size);
    for (const std::string& gpu : in.gpu_uuids) attempt->add_gpu_uuids(gpu);
    if (!in.master_addr.empty()) attempt->set_master_addr(in.master_addr), attempt->set_master_port(in.master_port);
    if (in.local_endpoint) attempt->set_local_endpoint(true);
    if (!in.resume_from.empty()) attempt->set_resume_from(in.resume_from);
    for (Generation born : in.born) attempt->add_born(born.value);
  }
}

wire::ExitRecord ParseExit(const std::string& stored) {
  wire::ExitRecord record;
  if (!record.ParseFromString(stored)) record.Clear();
  return record;
}

}  // namespace gt
