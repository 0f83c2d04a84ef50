#include "coordinator/service/coordinator.h"

#include <grpcpp/grpcpp.h>
#include <sys/stat.h>

#include <chrono>

#include "common/os/clock.h"
#include "common/os/file.h"
#include "common/os/net.h"
#include "common/os/random.h"
#include "common/text/access.h"
#include "coordinator/core/load.h"
#include "coordinator/logs/log_store.h"
#include "coordinator/loop.h"
#include "coordinator/service/crash_record.h"
#include "coordinator/service/disk_guard.h"
#include "coordinator/service/housekeeper.h"
#include "coordinator/service/jobs_service.h"
#include "coordinator/service/worker_service.h"
#include "coordinator/store/data_dir.h"
#include "coordinator/store/store.h"

namespace gt {
namespace {

constexpr int kPoolThreads = 8, kLogThreads = 2;  // they mostly wait: for the disk, or for the loop between two commits
constexpr size_t kMaxWaitingReads = 4096;
constexpr Millis kStopWithin = 500;
constexpr size_t kUidsADraw = 256;

}  // namespace

// In order of construction.
struct Coordinator::Parts {
  CoordinatorOptions options;
  Log* log;
  std::unique_ptr<DataDirLock> lock;
  std::unique_ptr<Store> store;
  std::unique_ptr<LogStore> logs;
  std::unique_ptr<DiskGuard> disk;
  Access access;
  Access written_access;               // what the file said before this start
  Epoch epoch;
  Watchers watchers;
  std::vector<Uid> drawn_uids;         // the loop's
  std::unique_ptr<Auth> auth;
  std::unique_ptr<WorkPool> pool;      // reads for people
  std::unique_ptr<WorkPool> log_pool;  // output on its way in
  std::unique_ptr<Loop> loop;
  std::unique_ptr<Housekeeper> housekeeper;
  std::unique_ptr<WorkerEdge> edge;
  std::unique_ptr<JobsService> jobs;
  std::unique_ptr<WorkerService> workers;
  std::unique_ptr<grpc::Server> server;

  Status OpenStore();
  Status OpenAccess();
  Uid NewUid();
  std::unique_ptr<LoopBody> MakeBody(ClusterState state);
  Status Commit(const Batch& batch, const ClusterState& state);
  void MakeServices(ClusterState state);
  Status Listen();
};

namespace {

Status CheckListen(const std::string& listen, HostPort* where) {
  Result<HostPort> parsed = ParseHostPort(listen);
  if (!parsed.ok() || !IsNumericAddress(parsed->host)) return {Code::kInvalidArgument, "listen: '" + listen + "' is not a numeric address with a port, like 127.0.0.1:7411"};
  if (!IsLoopback(parsed->host))
    return {Code::kInvalidArgument, "listen: " + listen + " is not a loopback address; other machines would need TLS, which is not supported yet. Use 127.0.0.1, for example through an SSH tunnel"};
  *where = *parsed;
  // Tried here, because gRPC does not tell why it could not.
  Result<Fd> probe = ListenTcp(where->host, where->port);
  if (!probe.ok()) return {probe.status().code(), "cannot listen on " + listen + ": " + probe.status().message() + "; is another coordinator running? Choose another port with --listen"};
  return OkStatus();
}

Result<std::string> NewToken() {
  GT_ASSIGN_OR_RETURN(std::string first, RandomKey());
  GT_ASSIGN_OR_RETURN(std::string second, RandomKey());
  return first + second;
}

}  // namespace

Status Coordinator::Parts::OpenStore() {
  StoreOptions store_options;
  store_options.on_damage = options.fatal;
  disk = std::make_unique<DiskGuard>(options.data_dir, options.disk_low, options.disk_min);
  if (disk->MakeRoom()) log->Error("no space on the disk: the reserve was freed, so that the coordinator can start");
  const std::string database = options.data_dir + "/coordinator.db";
  // SQLite takes an empty file for a new database; where a coordinator has run before, it is what is left of the old one.
  Result<uint64_t> size = FileSize(database);
  if (size.ok() && *size == 0 && Exists(options.data_dir + "/access"))
    return {Code::kDataLoss, database + " is empty, though a coordinator has run here: put a copy from " + options.data_dir + "/backups in its place, or remove it (and the file access) to begin anew"};
  GT_ASSIGN_OR_RETURN(store, Store::Open(database, store_options));
  disk->Reserve();
  LogStoreOptions log_options;
  log_options.min_free_bytes = options.disk_low;
  GT_ASSIGN_OR_RETURN(logs, LogStore::Open(options.data_dir + "/logs", log_options));
  return OkStatus();
}

// The token is made once for a data directory; the file is written at each start that changes it: a full disk must not keep a
// coordinator from coming back.
Status Coordinator::Parts::OpenAccess() {
  const std::string path = options.data_dir + "/access";
  Result<Access> before = ReadAccess(path);
  if (before.ok()) {
    access.token = before->token;
  } else if (before.status().code() == Code::kNotFound) {
    GT_ASSIGN_OR_RETURN(access.token, NewToken());
  } else {
    return before.status().WithContext("the access file of this data directory cannot be used; remove it to get a new token");
  }
  access.cluster_id = store->cluster_id();
  access.protocol = kProtocolVersion;
  if (before.ok()) written_access = *before;
  return OkStatus();
}

Status Coordinator::Parts::Commit(const Batch& batch, const ClusterState& state) {
  Status status = store->Commit(batch, state);
  if (status.code() == Code::kResourceExhausted) {
    bool released = disk->Release();
    log->Error("no space on the disk: commands are held" + std::string(released ? "; the reserve was freed" : ""), {{"error", status.message()}});
    if (released) status = store->Commit(batch, state);
  }
  if (status.code() == Code::kResourceExhausted) return status.WithContext("no space is left on the coordinator's disk");
  return status;
}

// The kernel is asked for many names at a time: tasks may start by the ten thousand a second.
Uid Coordinator::Parts::NewUid() {
  if (drawn_uids.empty()) {
    drawn_uids.resize(kUidsADraw);
    Status random = FillRandom(drawn_uids.data(), drawn_uids.size() * sizeof(Uid));
    if (!random.ok()) options.fatal(random);
  }
  Uid uid = drawn_uids.back();
  drawn_uids.pop_back();
  return uid;
}

std::unique_ptr<LoopBody> Coordinator::Parts::MakeBody(ClusterState state) {
  auto new_uid = [this] { return NewUid(); };
  auto finished_key = [this](const std::string& key) -> std::optional<JobId> {
    Result<std::optional<JobId>> found = store->FindKey(key);
    if (!found.ok()) options.fatal(found.status().WithContext("looking up a request's key"));
    return *found;
  };
  auto engine = std::make_unique<Engine>(std::move(state), options.policy, new_uid, finished_key);
  LoopOutputs outputs;
  outputs.commit = [this](const Batch& batch, const ClusterState& now) { return Commit(batch, now); };
  outputs.publish = [this](const Batch& batch, const ClusterState& now) { watchers.Publish(batch, now); };
  outputs.send = [this](Orders orders, const ClusterState& now) { edge->Send(std::move(orders), now); };
  outputs.end = [this](uint64_t session) { edge->End(session); };
  outputs.fatal = options.fatal;
  std::string hold = HoldAfterCrashes(options.data_dir, ReadClock().wall);
  if (!hold.empty()) log->Error("held", {{"reason", hold}});
  return std::make_unique<LoopBody>(std::move(engine), std::move(outputs), std::move(hold));
}

void Coordinator::Parts::MakeServices(ClusterState state) {
  auth = std::make_unique<Auth>(access.token);
  pool = std::make_unique<WorkPool>(kPoolThreads, kMaxWaitingReads);
  log_pool = std::make_unique<WorkPool>(kLogThreads, kMaxWaitingReads);
  LoopOptions loop_options;
  loop_options.clock = ReadClock;
  loop = std::make_unique<Loop>(MakeBody(std::move(state)), std::move(loop_options));
  WorkerEdge::Options edge_options;
  edge_options.policy = options.policy;
  edge_options.epoch = epoch;
  edge_options.clock = ReadClock;
  edge = std::make_unique<WorkerEdge>(loop.get(), log, std::move(edge_options));
  JobsDeps deps;
  deps.loop = loop.get();
  deps.store = store.get();
  deps.logs = logs.get();
  deps.watchers = &watchers;
  deps.pool = pool.get();
  deps.disk = disk.get();
  deps.auth = auth.get();
  deps.clock = ReadClock;
  deps.facts = {options.version, access.cluster_id, "", options.data_dir, epoch.value, ReadClock().wall};
  jobs = std::make_unique<JobsService>(std::move(deps));
  ShipDeps ship{logs.get(), log_pool.get(), [this] { return disk->Look(ReadClock().mono) != Space::kEnough; }};
  workers = std::make_unique<WorkerService>(edge.get(), std::move(ship), auth.get());
  housekeeper = std::make_unique<Housekeeper>(loop.get(), store.get(), logs.get(), disk.get(), log,
                                              Housekeeper::Retention{options.log_retention, options.history_retention});
}

Status Coordinator::Parts::Listen() {
  grpc::EnableDefaultHealthCheckService(false);
  grpc::ServerBuilder builder;
  int port = 0;
  HostPort where = *ParseHostPort(options.listen);
  builder.AddListeningPort(FormatHostPort(where.host, where.port), grpc::InsecureServerCredentials(), &port);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // A client that vanished without a word keeps no stream for ever; workers and their leases have beats of their own.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, 0);
  // A fixed window, wide enough for output, instead of one that is measured: that costs a ping for each burst of data.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 4 << 20);
  builder.SetMaxReceiveMessageSize(16 << 20);
  builder.RegisterService(jobs.get());
  builder.RegisterService(workers.get());
  server = builder.BuildAndStart();
  if (server == nullptr || port == 0) return {Code::kUnavailable, "cannot listen on " + options.listen + ": the address was taken meanwhile"};
  access.address = FormatHostPort(where.host, static_cast<uint16_t>(port));
  jobs->SetAddress(access.address);
  return access == written_access ? OkStatus() : WriteAccess(options.data_dir + "/access", access);
}

Result<std::unique_ptr<Coordinator>> Coordinator::Start(CoordinatorOptions options, Log* log) {
  auto parts = std::make_unique<Parts>();
  parts->options = std::move(options);
  parts->log = log;
  HostPort where;
  GT_ASSIGN_OR_RETURN(DataDirLock lock, DataDirLock::Take(parts->options.data_dir));
  parts->lock = std::make_unique<DataDirLock>(std::move(lock));
  GT_RETURN_IF_ERROR(CheckListen(parts->options.listen, &where));
  GT_RETURN_IF_ERROR(parts->OpenStore());
  GT_RETURN_IF_ERROR(parts->OpenAccess());
  GT_ASSIGN_OR_RETURN(ClusterState state, parts->store->Load());
  GT_ASSIGN_OR_RETURN(parts->epoch, parts->store->BumpEpoch());
  state.epoch = parts->epoch;
  Derive(&state, parts->options.policy, ReadClock());
  parts->MakeServices(std::move(state));
  Status listening = parts->Listen();
  parts->loop->Start();
  parts->housekeeper->Start();
  std::unique_ptr<Coordinator> coordinator(new Coordinator(std::move(parts)));
  if (!listening.ok()) return listening;
  return coordinator;
}

Coordinator::Coordinator(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Coordinator::~Coordinator() {
  if (parts_ == nullptr) return;
  parts_->edge->CloseAll();
  if (parts_->server) parts_->server->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(kStopWithin));
  parts_->loop->Stop();
  parts_->housekeeper->Stop();
  parts_->pool->Stop();
  parts_->log_pool->Stop();
}

const std::string& Coordinator::address() const { return parts_->access.address; }
const std::string& Coordinator::cluster_id() const { return parts_->access.cluster_id; }
uint64_t Coordinator::epoch() const { return parts_->epoch.value; }

}  // namespace gt
