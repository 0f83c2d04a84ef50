#include "worker/trainer/collective/form.h"

#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "worker/trainer/collective/gloo_backend.h"
#include "worker/trainer/collective/local_backend.h"
#include "worker/trainer/collective/shm/segment.h"
#include "worker/trainer/collective/shm_backend.h"
#include "worker/trainer/collective/store.h"

namespace gt::trainer {
namespace {

constexpr size_t kSlotBytes = 4 << 20;

using StorePtr = c10::intrusive_ptr<c10d::Store>;
using BackendPtr = c10::intrusive_ptr<AbortableBackend>;

void Put(const StorePtr& store, const std::string& key, const std::string& value) {
  store->set(key, std::vector<uint8_t>(value.begin(), value.end()));
}

// One value per rank; waits until all have put theirs.
std::vector<std::string> Exchange(const StorePtr& store, const std::string& key, int rank, int world_size,
                                  const std::string& value) {
  Put(store, key + std::to_string(rank), value);
  std::vector<std::string> keys, values;
  for (int i = 0; i < world_size; ++i) keys.push_back(key + std::to_string(i));
  for (const std::vector<uint8_t>& bytes : store->multiGet(keys)) values.emplace_back(bytes.begin(), bytes.end());
  return values;
}

bool AllEqual(const std::vector<std::string>& values) {
  for (const std::string& value : values)
    if (value != values[0]) return false;
  return true;
}

// Null when not every rank could map the segment: then none uses it.
BackendPtr TryShm(const StorePtr& store, int rank, int world_size) {
  Result<std::unique_ptr<ShmSegment>> segment = Status(Code::kUnavailable, "not opened");
  if (rank == 0) {
    segment = ShmSegment::Create(world_size, kSlotBytes);
    Put(store, "segment", segment.ok() ? (*segment)->Handle() : "none");
  } else {
    std::vector<uint8_t> handle = store->get("segment");
    segment = ShmSegment::Open(std::string(handle.begin(), handle.end()), rank, world_size, kSlotBytes);
  }
  std::vector<std::string> answers = Exchange(store, "mapped", rank, world_size, segment.ok() ? "yes" : "no");
  if (!segment.ok() || !AllEqual(answers)) return {};
  (*segment)->CloseDescriptor();
  return c10::make_intrusive<ShmBackend>(std::move(segment).value(), rank, world_size);
}

}  // namespace

Result<std::shared_ptr<Group>> FormGroup(const Rendezvous& rendezvous, const Environment& env, CudaPlugin* cuda,
                                         const std::function<bool()>& give_up) {
  int rank = rendezvous.rank, world_size = rendezvous.world_size;
  if (world_size == 1 && !cuda) {
    return std::make_shared<Group>(rendezvous, c10::make_intrusive<c10d::HashStore>(),
                                   c10::make_intrusive<LocalBackend>());
  }
  GT_ASSIGN_OR_RETURN(StorePtr store, ConnectStore(rendezvous, env, give_up));
  BackendPtr backend;
  if (cuda) {
    GT_ASSIGN_OR_RETURN(backend, cuda->MakeBackend(store, rank, world_size));
    return std::make_shared<Group>(rendezvous, store, backend);
  }
  // The choice is made from what all have said, so that all choose alike.
  std::vector<std::string> hosts = Exchange(store, "host", rank, world_size, env.collective + "@" + HostIdentity());
  bool one_host = AllEqual(hosts);
  if (env.collective == "shm" && !one_host)
    return Status(Code::kInvalidArgument, "GT_COLLECTIVE=shm, but not all ranks are on one host with that setting");
  if (env.collective != "gloo" && one_host) backend = TryShm(store, rank, world_size);
  if (!backend && env.collective == "shm" && one_host)
    return Status(Code::kInvalidArgument, "GT_COLLECTIVE=shm, but the ranks cannot map each other's memory");
  if (!backend) {
    std::string address = env.node_address_given || !env.socket.empty() ? env.node_address
                                                                        : LocalAddressTowards(rendezvous.store_addr);
    backend = c10::make_intrusive<GlooBackend>(store, rank, world_size, address);
  }
  return std::make_shared<Group>(rendezvous, store, backend);
}

}  // namespace gt::trainer
