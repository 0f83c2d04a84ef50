// Stores: where ranks leave each other addresses while a group forms.
#pragma once
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <functional>
#include <string>

#include "common/base/status.h"
#include "worker/trainer/contract/environment.h"
#include "worker/trainer/contract/messages.h"

namespace gt::trainer {

// A store that this rank serves for life, at a port of its node's address that it bound itself: any generation may
// choose it as its host without a race for the port.
struct OwnStore {
  c10::intrusive_ptr<c10d::TCPStore> store;
  std::string address;
  int port = 0;
};
Result<OwnStore> ServeOwnStore(const std::string& address);

// The store of a generation. Blocks: connects with short retries until the host answers, `give_up` says true, or 60 s
// passed. Throws what c10d throws.
Result<c10::intrusive_ptr<c10d::Store>> ConnectStore(const Rendezvous& rendezvous, const Environment& env,
                                                     const std::function<bool()>& give_up);

// The numeric address from which this machine reaches `host`; 127.0.0.1 for this machine itself.
std::string LocalAddressTowards(const std::string& host);

}  // namespace gt::trainer
