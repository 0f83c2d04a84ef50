#include "worker/runtime/grpc_channel.h"

#include "common/os/net.h"

namespace gt::worker {
namespace {

// A numeric address needs no resolver.
std::string TargetUri(const std::string& address) {
  Result<HostPort> parsed = ParseHostPort(address);
  if (!parsed.ok() || !IsNumericAddress(parsed->host)) return address;
  return (parsed->host.find(':') == std::string::npos ? "ipv4:" : "ipv6:") + FormatHostPort(parsed->host, parsed->port);
}

}  // namespace

std::shared_ptr<grpc::Channel> OpenChannel(const Target& target) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);  // a ping for each burst of data
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 2000);  // also the time that one connect may take
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
  // A connection that died without a word would hold the output back until TCP gives up. The time to answer leaves room for
  // what is queued before the ping on a slow link.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  arguments.SetMaxReceiveMessageSize(16 << 20);
  return grpc::CreateCustomChannel(TargetUri(target.address), grpc::InsecureChannelCredentials(), arguments);
}

void AddCredentials(const Target& target, grpc::ClientContext* context) {
  context->AddMetadata("authorization", "Bearer " + target.token);
  context->AddMetadata("gt-protocol", std::to_string(kProtocolVersion));
}

Status FromGrpc(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::OK: return OkStatus();
    case grpc::StatusCode::UNAUTHENTICATED: return Status(Code::kUnauthenticated, status.error_message());
    case grpc::StatusCode::PERMISSION_DENIED: return Status(Code::kPermissionDenied, status.error_message());
    case grpc::StatusCode::FAILED_PRECONDITION: return Status(Code::kFailedPrecondition, status.error_message());
    case grpc::StatusCode::UNAVAILABLE: return Status(Code::kUnavailable, status.error_message());
    case grpc::StatusCode::RESOURCE_EXHAUSTED: return Status(Code::kResourceExhausted, status.error_message());
    default: return Status(Code::kInternal, status.error_message());
  }
}

}  // namespace gt::worker
