#include "worker/core/launch.h"

#include <map>

namespace gt::worker {
namespace {

constexpr int32_t kMaxRanksPerNode = 1024;

std::string TaskFolder(const JobLaunch& job, const AttemptOrder& order, const NodeFacts& facts) {
  const std::string& root = job.checkpoint_dir.empty() ? facts.checkpoint_dir : job.checkpoint_dir;
  return root + "/" + std::to_string(order.job_id.value) + "/" + std::to_string(order.task_index);
}

std::string Join(const std::vector<std::string>& parts) {
  std::string joined;
  for (const std::string& part : parts) joined += (joined.empty() ? "" : ",") + part;
  return joined;
}

// In order and as evenly as possible; all ranks of the node see all of them, and LOCAL_RANK tells which is theirs.
std::vector<std::vector<std::string>> ShareGpus(const std::vector<std::string>& gpus, size_t ranks) {
  std::vector<std::vector<std::string>> shares(ranks);
  for (size_t i = 0; i < ranks; ++i)
    shares[i].assign(gpus.begin() + static_cast<ptrdiff_t>(i * gpus.size() / ranks),
                     gpus.begin() + static_cast<ptrdiff_t>((i + 1) * gpus.size() / ranks));
  return shares;
}

// Weakest first: the machine, defaults, the job's own, and last what the attempt is (nobody may pretend otherwise).
KeyValues BuildEnv(const JobLaunch& job, const AttemptOrder& order, const NodeFacts& facts, const std::string& folder) {
  std::map<std::string, std::string> env(facts.base_env.begin(), facts.base_env.end());
  env["PYTHONUNBUFFERED"] = "1";
  env["OMP_NUM_THREADS"] = std::to_string(job.cpus_per_process > 0 ? job.cpus_per_process : 1);
  // Members on one node only: the launcher says lo.
  if (!facts.interface.empty() && order.group_world_size > 1)
    env["NCCL_SOCKET_IFNAME"] = env["GLOO_SOCKET_IFNAME"] = facts.interface;
  env["TORCHELASTIC_MAX_RESTARTS"] = std::to_string(job.max_restarts);
  for (const auto& [key, value] : job.env) env[key] = value;
  env["GT_JOB_ID"] = std::to_string(order.job_id.value);
  env["GT_TASK_INDEX"] = std::to_string(order.task_index);
  env["GT_ATTEMPT"] = std::to_string(order.number);
  env["GT_GENERATION"] = std::to_string(order.generation.value);
  env["GT_CHECKPOINT_DIR"] = folder;
  if (order.resume_from.empty()) env.erase("GT_RESUME_FROM");
  else env["GT_RESUME_FROM"] = order.resume_from;
  env["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";
  env["CUDA_VISIBLE_DEVICES"] = Join(order.gpu_uuids);  // empty for jobs without GPUs: they must not find any
  return KeyValues(env.begin(), env.end());
}

Status CheckText(const std::string& what, const std::string& text) {
  if (text.find('\0') == std::string::npos) return OkStatus();
  return Status(Code::kInvalidArgument, what + " contains a NUL byte");
}

Status Check(const JobLaunch& job, const AttemptOrder& order) {
  if (job.argv.empty() || job.argv[0].empty()) return Status(Code::kInvalidArgument, "the command is empty");
  if (job.processes_per_node < 1 || job.processes_per_node > kMaxRanksPerNode)
    return Status(Code::kInvalidArgument, "processes_per_node is " + std::to_string(job.processes_per_node) +
                                              ", not in 1.." + std::to_string(kMaxRanksPerNode));
  if (order.group_rank >= order.group_world_size || order.group_world_size > 65536)
    return Status(Code::kInvalidArgument, "group rank " + std::to_string(order.group_rank) + " of " +
                                              std::to_string(order.group_world_size));
  for (const std::string& word : job.argv) GT_RETURN_IF_ERROR(CheckText("the command", word));
  GT_RETURN_IF_ERROR(CheckText("the working directory", job.workdir));
  GT_RETURN_IF_ERROR(CheckText("the checkpoint directory", job.checkpoint_dir));
  for (const auto& [key, value] : job.env) {
    if (key.empty() || key.find('=') != std::string::npos)
      return Status(Code::kInvalidArgument, "the environment has a variable named '" + key + "'");
    GT_RETURN_IF_ERROR(CheckText("variable " + key, key + value));
  }
  return OkStatus();
}

}  // namespace

Result<LauncherStart> BuildStart(const JobLaunch& job, const AttemptOrder& order, const NodeFacts& facts) {
  GT_RETURN_IF_ERROR(Check(job, order));
  std::string folder = TaskFolder(job, order, facts);
  bool alone = order.group_world_size == 1;
  LauncherStart start;
  start.uid = order.uid;
  start.job_id = order.job_id;
  start.task_index = order.task_index;
  start.array = job.array;
  start.number = order.number;
  start.generation = order.generation;
  uint32_t local = static_cast<uint32_t>(job.processes_per_node);
  start.first_rank = order.group_rank * local;
  start.world_size = order.group_world_size * local;
  start.group_rank = order.group_rank;
  start.group_world_size = order.group_world_size;
  start.rank_gpus = ShareGpus(order.gpu_uuids, local);
  for (const std::string& word : job.argv) start.argv.push_back(word == "{trainer}" ? facts.trainer : word);
  start.env = BuildEnv(job, order, facts, folder);
  start.workdir = job.workdir;
  start.spec_json = job.spec_json;
  start.contract = job.contract;
  start.local_endpoint = order.local_endpoint || alone;
  start.hold_port = !job.contract && !start.local_endpoint && order.group_rank == 0 && !order.master.known();
  start.node_address = facts.address;
  start.memory_limit = job.memory_limit;
  start.time_limit = job.time_limit_ms;
  start.grace = job.grace_ms;
  start.fail_grace = job.fail_grace_ms;
  start.stop_after = job.stop_after_ms;
  start.reform_timeout = job.reform_timeout_ms;
  if (!job.spec_json.empty()) start.make_dir = folder;
  return start;
}

}  // namespace gt::worker
