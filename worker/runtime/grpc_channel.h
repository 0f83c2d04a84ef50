// How this worker connects to its coordinator.
#pragma once
#include <grpcpp/grpcpp.h>

#include <memory>

#include "worker/runtime/sync_client.h"

namespace gt::worker {

// A TCP connection of its own (channels made here share nothing). Never fails; calls on it may.
std::shared_ptr<grpc::Channel> OpenChannel(const Target& target);
// The token and the protocol version, as every call carries them.
void AddCredentials(const Target& target, grpc::ClientContext* context);
Status FromGrpc(const grpc::Status& status);

}  // namespace gt::worker
