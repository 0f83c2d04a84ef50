#include "worker/launcher/plan.h"

#include <map>

#include "common/os/net.h"

namespace gt::launcher {

namespace {
constexpr size_t kMaxRanks = 1024;
constexpr const char* kDefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr const char* kLoopback = "127.0.0.1";
using Environment = std::map<std::string, std::string>;

void AddDefaults(const Start& start, const NodeSetup& setup, Environment* env) {
  const JobUser& user = setup.job_user;
  *env = {{"PATH", kDefaultPath}, {"HOME", user.home}, {"USER", user.name}, {"LOGNAME", user.name},
          {"SHELL", user.shell}, {"LANG", "C.UTF-8"}, {"OMP_NUM_THREADS", "1"}, {"PYTHONUNBUFFERED", "1"},
          {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"}, {"TORCHELASTIC_MAX_RESTARTS", "0"}};
  std::string interface = "lo";
  if (!start.local_endpoint) {
    auto owner = InterfaceOwning(start.node_address);
    if (!owner.ok()) return;  // the libraries then choose for themselves
    interface = *owner;
  }
  (*env)["NCCL_SOCKET_IFNAME"] = (*env)["GLOO_SOCKET_IFNAME"] = interface;
}

void AddGang(const Start& start, const Endpoint& endpoint, Environment* env) {
  std::string gpus;
  for (const RankSpec& rank : start.ranks)
    for (const std::string& gpu : rank.gpus) gpus += (gpus.empty() ? "" : ",") + gpu;
  Environment& e = *env;
  e["WORLD_SIZE"] = e["ROLE_WORLD_SIZE"] = std::to_string(start.world_size);
  e["LOCAL_WORLD_SIZE"] = std::to_string(start.ranks.size());
  e["GROUP_RANK"] = std::to_string(start.group_rank);
  e["GROUP_WORLD_SIZE"] = std::to_string(start.group_world_size);
  e["ROLE_NAME"] = "default";
  e["TORCHELASTIC_RESTART_COUNT"] = std::to_string(start.attempt_no > 0 ? start.attempt_no - 1 : 0);
  e["TORCHELASTIC_RUN_ID"] = ToString(TaskId{start.job_id, start.task_index}, start.array);
  e["TORCHELASTIC_USE_AGENT_STORE"] = "False";
  e["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";
  e["CUDA_VISIBLE_DEVICES"] = gpus;
  if (endpoint.address.empty()) return;
  e["MASTER_ADDR"] = endpoint.address;
  e["MASTER_PORT"] = std::to_string(endpoint.port);
}

void AddOurs(const Start& start, Generation generation, const std::string& key, const NodeSetup& setup, Environment* env) {
  Environment& e = *env;
  e["GT_JOB_ID"] = std::to_string(start.job_id.value);
  e["GT_TASK_INDEX"] = std::to_string(start.task_index);
  e["GT_ATTEMPT"] = std::to_string(start.attempt_no);
  e["GT_ATTEMPT_UID"] = ToHex(start.uid);
  e["GT_GENERATION"] = std::to_string(generation.value);
  e["GT_NODE_ADDRESS"] = start.local_endpoint ? kLoopback : start.node_address;
  e["GT_SOCKET"] = setup.rank_dir.socket();
  e["GT_KEY"] = key;
}

std::vector<std::string> Candidates(const std::string& program, const std::string& path) {
  if (program.find('/') != std::string::npos) return {program};
  std::vector<std::string> result;
  for (size_t from = 0; from <= path.size();) {
    size_t colon = std::min(path.find(':', from), path.size());
    std::string folder = path.substr(from, colon - from);
    result.push_back((folder.empty() ? "." : folder) + "/" + program);
    from = colon + 1;
  }
  return result;
}
}  // namespace

Status CheckStart(const Start& start) {
  auto bad = [](const char* what) { return Status(Code::kInvalidArgument, what); };
  if (start.uid.empty()) return bad("the attempt has no uid");
  if (start.ranks.empty() || start.ranks.size() > kMaxRanks) return bad("an attempt has 1 to 1024 ranks on a node");
  if (start.argv.empty() || start.argv[0].empty()) return bad("there is no command to run");
  if (start.first_rank + start.ranks.size() > start.world_size) return bad("ranks do not fit the world size");
  if (!start.local_endpoint && !IsNumericAddress(start.node_address)) return bad("the node's address is not numeric");
  for (const auto& [name, value] : start.env) {
    if (name.empty() || name.find('=') != std::string::npos || (name + value).find('\0') != std::string::npos) {
      return bad("an environment variable has an impossible name or value");
    }
  }
  return OkStatus();
}

void SetGeneration(GangPlan* plan, Generation generation) {
  constexpr std::string_view kName = "GT_GENERATION=";
  for (std::string& variable : plan->common_env)
    if (variable.compare(0, kName.size(), kName) == 0) variable = kName.data() + std::to_string(generation.value);
}

GangPlan MakePlan(const Start& start, Generation generation, const Endpoint& endpoint, const std::string& key,
                  const NodeSetup& setup) {
  Environment env;
  AddDefaults(start, setup, &env);
  for (const auto& [name, value] : start.env) env[name] = value;
  AddGang(start, endpoint, &env);
  AddOurs(start, generation, key, setup, &env);
  GangPlan plan;
  plan.uid = start.uid;
  plan.argv = start.argv;
  for (std::string& word : plan.argv)
    if (word == "{spec}") word = setup.rank_dir.spec(start.uid);
  plan.paths = Candidates(plan.argv[0], env["PATH"]);
  plan.workdir = start.workdir.empty() ? setup.work_dir : start.workdir;
  plan.user = setup.job_user;
  plan.memory_limit = start.memory_limit;
  plan.reforms = start.contract && start.reform_timeout > 0;
  for (const char* name : {"RANK", "ROLE_RANK", "LOCAL_RANK", "TORCHELASTIC_ERROR_FILE"}) env.erase(name);
  for (const auto& [name, value] : env) plan.common_env.push_back(name + "=" + value);
  for (uint32_t i = 0; i < start.ranks.size(); ++i) {
    std::string rank = std::to_string(start.first_rank + i);
    plan.rank_env.push_back({"RANK=" + rank, "ROLE_RANK=" + rank, "LOCAL_RANK=" + std::to_string(i),
                             "TORCHELASTIC_ERROR_FILE=" + setup.rank_dir.error_file(start.uid, i)});
  }
  return plan;
}

}  // namespace gt::launcher
