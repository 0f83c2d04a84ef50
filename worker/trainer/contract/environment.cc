#include "worker/trainer/contract/environment.h"

#include <charconv>
#include <cstdlib>

namespace gt::trainer {
namespace {

using Get = std::function<std::string(const char*)>;

// Leaves *out alone when the variable is not set.
Status ReadNumber(const Get& get, const char* name, int64_t least, int64_t most, int64_t* out) {
  std::string text = get(name);
  if (text.empty()) return OkStatus();
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    return Status(Code::kInvalidArgument, std::string(name) + "='" + text + "' is not an integer between " +
                                              std::to_string(least) + " and " + std::to_string(most));
  }
  *out = value;
  return OkStatus();
}

bool IsTrue(const std::string& text) { return text == "True" || text == "true" || text == "1"; }

}  // namespace

Result<Environment> ReadEnvironment(const Get& get) {
  constexpr int64_t kMostRanks = 1 << 20;
  Environment env;
  int64_t rank = 0, world_size = 0, local_rank = 0, port = 0, restarts = 0, generation = 0, gpus = -1;
  GT_RETURN_IF_ERROR(ReadNumber(get, "RANK", 0, kMostRanks, &rank));
  GT_RETURN_IF_ERROR(ReadNumber(get, "WORLD_SIZE", 1, kMostRanks, &world_size));
  GT_RETURN_IF_ERROR(ReadNumber(get, "LOCAL_RANK", 0, kMostRanks, &local_rank));
  GT_RETURN_IF_ERROR(ReadNumber(get, "MASTER_PORT", 1, 65535, &port));
  GT_RETURN_IF_ERROR(ReadNumber(get, "TORCHELASTIC_RESTART_COUNT", 0, kMostRanks, &restarts));
  GT_RETURN_IF_ERROR(ReadNumber(get, "GT_GENERATION", 0, UINT32_MAX, &generation));
  GT_RETURN_IF_ERROR(ReadNumber(get, "GT_GPUS", 0, 1024, &gpus));
  env.rank = static_cast<int>(rank);
  env.world_size = static_cast<int>(world_size);
  env.local_rank = static_cast<int>(local_rank);
  env.master_port = static_cast<int>(port);
  env.restart_count = static_cast<int>(restarts);
  env.generation = static_cast<uint32_t>(generation);
  env.master_addr = get("MASTER_ADDR");
  env.agent_store = IsTrue(get("TORCHELASTIC_USE_AGENT_STORE"));
  env.run_id = get("TORCHELASTIC_RUN_ID");
  env.socket = get("GT_SOCKET");
  env.key = get("GT_KEY");
  env.node_address_given = !get("GT_NODE_ADDRESS").empty();
  if (env.node_address_given) env.node_address = get("GT_NODE_ADDRESS");
  env.attempt_uid = get("GT_ATTEMPT_UID");
  if (env.attempt_uid.empty()) env.attempt_uid = env.run_id.empty() || env.run_id == "none" ? "local" : env.run_id;
  env.checkpoint_dir = get("GT_CHECKPOINT_DIR");
  env.resume_from = get("GT_RESUME_FROM");
  env.collective = get("GT_COLLECTIVE");
  env.threads_given = !get("OMP_NUM_THREADS").empty();
  std::string visible = get("CUDA_VISIBLE_DEVICES");
  env.wants_gpu = gpus >= 0 ? gpus > 0 : !visible.empty() && visible != "-1" && visible != "NoDevFiles";

  if (env.attempt_uid.find('/') != std::string::npos || env.attempt_uid[0] == '.')
    return Status(Code::kInvalidArgument, "GT_ATTEMPT_UID='" + env.attempt_uid + "' cannot name a folder");
  if (!env.collective.empty() && env.collective != "gloo" && env.collective != "shm")
    return Status(Code::kInvalidArgument, "GT_COLLECTIVE='" + env.collective + "' is neither gloo nor shm");
  if (env.socket.empty() && env.world_size > 1 && (env.master_addr.empty() || env.master_port == 0))
    return Status(Code::kInvalidArgument, "WORLD_SIZE is " + std::to_string(env.world_size) +
                                              " but MASTER_ADDR or MASTER_PORT is not set");
  if (env.world_size > 0 && env.rank >= env.world_size)
    return Status(Code::kInvalidArgument, "RANK " + std::to_string(env.rank) + " is not below WORLD_SIZE " +
                                              std::to_string(env.world_size));
  return env;
}

Result<Environment> ReadProcessEnvironment() {
  return ReadEnvironment([](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  });
}

}  // namespace gt::trainer
