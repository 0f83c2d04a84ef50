#include "worker/runtime/worker.h"

#include <unistd.h>

#include <cstdlib>

#include "common/base/units.h"
#include "common/os/file.h"
#include "common/os/net.h"
#include "common/os/process.h"
#include "common/os/random.h"
#include "common/text/access.h"
#include "worker/runtime/gpu_inventory.h"
#include "worker/runtime/host_inventory.h"
#include "worker/runtime/job_user.h"

#ifndef GT_VERSION
#error "GT_VERSION is defined by the build"
#endif

namespace gt::worker {
namespace v1 = gridtrain::v1;
namespace {

std::string Env(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value && *value ? value : otherwise;
}

// All that a rank inherits of this machine's environment; nothing else of ours reaches it.
KeyValues BaseEnv() {
  KeyValues env{{"PATH", Env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")},
                {"LANG", Env("LANG", "C.UTF-8")}};
  if (geteuid() != 0) env.push_back({"HOME", Env("HOME", "/")});  // root's ranks get the job user's from the launcher
  return env;
}

Result<std::string> AddressFor(const v1::WorkerConfig& config, const Access& access) {
  if (config.has_address()) {
    if (IsNumericAddress(config.address())) return config.address();
    return Status(Code::kInvalidArgument, "address: '" + config.address() + "' is not numeric");
  }
  GT_ASSIGN_OR_RETURN(HostPort coordinator, ParseHostPort(access.address));
  Result<std::string> local = LocalAddressTowards(coordinator.host);
  if (local.ok()) return local;
  return Status(Code::kInvalidArgument, "which address of this node reaches the coordinator at " + access.address +
                                            " cannot be told (" + local.status().message() + "): set `address`");
}

std::vector<Gpu> FindGpus(const v1::WorkerConfig& config, const std::string& node, Log* log) {
  if (config.gpus_size() == 0) {
    GpuScan scan = ScanGpus(std::getenv("CUDA_VISIBLE_DEVICES"));
    log->Info(scan.note);
    return scan.gpus;
  }
  std::vector<Gpu> gpus;
  for (const v1::ConfiguredGpus& group : config.gpus()) {
    int first = static_cast<int>(gpus.size());
    std::vector<Gpu> made = MakeFakeGpus(node, group.model(), group.memory(), group.count(), first);
    gpus.insert(gpus.end(), made.begin(), made.end());
  }
  log->Warn("GPUs are made up by configuration", {{"count", gpus.size()}});
  return gpus;
}

Inventory FindInventory(const v1::WorkerConfig& config, const std::string& node, const std::string& address, Log* log) {
  Inventory inventory;
  inventory.cpus = config.has_cpus() ? config.cpus() : UsableCpus();
  inventory.memory = config.has_memory() ? config.memory() : UsableMemory();
  inventory.gpus = FindGpus(config, node, log);
  inventory.address = address;
  inventory.labels.assign(config.labels().begin(), config.labels().end());
  return inventory;
}

Result<Agent::Options> AgentOptions(const v1::WorkerConfig& config, const NodeDir& dir, const Access& access,
                                    Log* log) {
  Agent::Options options;
  GT_ASSIGN_OR_RETURN(std::string address, AddressFor(config, access));
  GT_ASSIGN_OR_RETURN(options.hello.boot_id, BootId());
  GT_ASSIGN_OR_RETURN(options.hello.session, RandomUid());
  options.hello.node_name = dir.name();
  options.hello.node_uid = dir.uid();
  options.hello.version = GT_VERSION;
  options.hello.cluster_id = access.cluster_id;
  options.hello.last_epoch = dir.last_epoch();
  options.inventory = FindInventory(config, dir.name(), address, log);
  options.facts.address = address;
  if (Result<std::string> interface = InterfaceOwning(address); interface.ok()) options.facts.interface = *interface;
  else log->Warn("no interface has the ranks' address: NCCL and Gloo choose one", {{"address", address}});
  options.facts.trainer = config.trainer();
  options.facts.checkpoint_dir = config.checkpoint_dir();
  options.facts.base_env = BaseEnv();
  options.session.seed = options.hello.session.low;
  return options;
}

LauncherOptions OptionsOfLauncher(const v1::WorkerConfig& config, const NodeDir& dir, const std::string& address) {
  LauncherOptions options;
  options.program = config.launcher();
  options.dir = dir.launcher_dir();
  options.arguments = {"--spool-limit", FormatBytes(config.spool_cap())};
  if (geteuid() == 0) options.arguments.insert(options.arguments.end(), {"--job-user", config.job_user()});
  if (config.allow_root_jobs()) options.arguments.push_back("--allow-root-jobs");
  options.env = BaseEnv();
  options.node_address = address;
  options.job_user = config.job_user();
  return options;
}

TargetSource TargetFrom(const std::string& path) {
  return [path]() -> Result<Target> {
    GT_ASSIGN_OR_RETURN(Access access, ReadAccess(path));
    return Target{access.address, access.token};
  };
}

}  // namespace

Result<std::unique_ptr<Worker>> Worker::Create(const v1::WorkerConfig& config, Log* log) {
  GT_ASSIGN_OR_RETURN(NodeDir dir, NodeDir::Open(config.data_dir(), config.node_name(), config.node_name()));
  Result<Access> access = ReadAccess(config.access());
  if (access.status().code() == Code::kNotFound) {
    return Status(Code::kNotFound, "there is no access file at " + config.access() +
                                       ": start the coordinator first, or copy its access file here and name it with "
                                       "--access");
  }
  if (!access.ok()) return access.status();
  // Later it would fail every job that is placed here.
  if (Status user = geteuid() == 0 ? CheckUser(config.job_user()) : OkStatus(); !user.ok())
    return user.WithContext("job_user, which ranks run as,");
  if (!Exists(config.launcher())) return Status(Code::kNotFound, "there is no launcher at " + config.launcher());

  std::unique_ptr<Worker> worker(new Worker(std::move(dir), log));
  GT_ASSIGN_OR_RETURN(Agent::Options options, AgentOptions(config, worker->dir_, *access, log));
  std::string address = options.facts.address;
  log->Info("worker starts", {{"node", worker->dir_.name()}, {"uid", worker->dir_.uid()},
                              {"coordinator", access->address}, {"address", address}, {"cpus", options.inventory.cpus},
                              {"memory", options.inventory.memory}, {"gpus", options.inventory.gpus.size()}});
  DriverHooks hooks{
      .save_epoch = [w = worker.get()](Epoch epoch) { w->dir_.SaveEpoch(epoch); },
      .note = [log](const Note& note) {
        if (note.uid.empty()) log->Info(note.text);
        else log->Info(note.text, {{"attempt", note.uid}});
      },
  };
  TargetSource target = TargetFrom(config.access());
  auto say = [log](const std::string& line) { log->Info(line); };
  worker->driver_ = std::make_unique<Driver>(std::move(options), target, std::move(hooks));
  worker->shipper_ = std::make_unique<LogShipper>(
      LogShipperOptions{.node_name = worker->dir_.name(),
                        .node_uid = worker->dir_.uid(),
                        .ack_file = worker->dir_.shipped_file()},
      target, [w = worker.get()](uint64_t offset) { w->launcher_->Send({launcher::SpoolAck{.offset = offset}}); }, say);
  worker->launcher_ = std::make_unique<LauncherClient>(
      OptionsOfLauncher(config, worker->dir_, address),
      LauncherEvents{
          .inputs = worker->driver_->launcher_inputs(),
          .spool = [w = worker.get()](const std::string& path) { w->shipper_->SetSpool(path); },
          .spool_advance = [w = worker.get()](uint64_t end) { w->shipper_->Advance(end); },
          .log = say,
      });
  worker->driver_->SetLauncher(worker->launcher_.get());
  return worker;
}

// The shipper calls the launcher client and the other way round: both threads end before either object does.
Worker::~Worker() {
  if (shipper_) shipper_->Stop();
  if (launcher_) launcher_->Stop();
}

Status Worker::Run() {
  launcher_->Start();
  shipper_->Start();
  Status end = driver_->Run();
  launcher_->Stop();
  shipper_->Stop();
  if (!end.ok()) launcher_->EndIdle();
  return end;
}

}  // namespace gt::worker
