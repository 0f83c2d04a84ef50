#include "cli/client.h"

#include <grpcpp/grpcpp.h>
#include <time.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>

#include "common/base/vocabulary.h"
#include "common/os/net.h"
#include "common/text/text.h"
#include "gridtrain/v1/jobs_service.grpc.pb.h"

namespace gt {

using namespace gridtrain::v1;

namespace {

constexpr Millis kFirstRetryPause = 20;
constexpr Millis kLongestRetryPause = 500;
constexpr int kMaxMessageBytes = 64 << 20;

// A numeric address goes to the socket as it is: no resolver is started for it.
std::string Target(const std::string& address) {
  Result<HostPort> parsed = ParseHostPort(address);
  if (!parsed.ok()) return "dns:///" + address;
  std::string host = parsed->host == "localhost" ? "127.0.0.1" : parsed->host;
  if (!IsNumericAddress(host)) return "dns:///" + address;
  return (host.find(':') == std::string::npos ? "ipv4:" : "ipv6:") + FormatHostPort(host, parsed->port);
}

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);  // ours know when to stop
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30000);  // a follower notices a coordinator that vanished without a word
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10000);
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  return grpc::CreateCustomChannel(Target(address), grpc::InsecureChannelCredentials(), arguments);
}

Code ToCode(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::OK:
      return Code::kOk;
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::OUT_OF_RANGE:
      return Code::kInvalidArgument;
    case grpc::StatusCode::NOT_FOUND:
      return Code::kNotFound;
    case grpc::StatusCode::ALREADY_EXISTS:
      return Code::kAlreadyExists;
    case grpc::StatusCode::FAILED_PRECONDITION:
    case grpc::StatusCode::UNIMPLEMENTED:
    case grpc::StatusCode::ABORTED:
      return Code::kFailedPrecondition;
    case grpc::StatusCode::UNAUTHENTICATED:
      return Code::kUnauthenticated;
    case grpc::StatusCode::PERMISSION_DENIED:
      return Code::kPermissionDenied;
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return Code::kResourceExhausted;
    case grpc::StatusCode::CANCELLED:
    case grpc::StatusCode::UNAVAILABLE:
      return Code::kUnavailable;
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return Code::kDeadlineExceeded;
    case grpc::StatusCode::DATA_LOSS:
      return Code::kDataLoss;
    default:
      return Code::kInternal;
  }
}

// What the coordinator says is text from elsewhere; its lines stay lines.
std::string SafeLines(const std::string& text) {
  std::string out;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    out += (begin == 0 ? "" : "\n") + Printable(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

Status ToStatus(const grpc::Status& status) {
  if (status.ok()) return OkStatus();
  std::string message = SafeLines(status.error_message());
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED)
    message = "the coordinator does not know this request; it is older than this gtctl (" + message + ")";
  return Status(ToCode(status.error_code()), message.empty() ? "the coordinator gave no reason" : message);
}

std::chrono::system_clock::time_point In(Millis duration) {
  return std::chrono::system_clock::now() + std::chrono::milliseconds(duration);
}

}  // namespace

Millis MonotonicMillis() {
  timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<Millis>(now.tv_sec) * 1000 + now.tv_nsec / 1000000;
}

struct Client::Impl {
  Impl(const Access& access, Millis call_timeout)
      : stub(MakeChannel(access.address)), bearer("Bearer " + access.token), timeout(call_timeout) {}

  // One context in flight; Interrupt() reaches it.
  class Flight {
   public:
    explicit Flight(Impl* impl) : impl_(impl) {
      context.AddMetadata("authorization", impl->bearer);
      context.AddMetadata("gt-protocol", std::to_string(kProtocolVersion));
      std::lock_guard lock(impl->mutex);
      impl->flights.insert(&context);
      if (impl->interrupted) context.TryCancel();
    }
    ~Flight() {
      std::lock_guard lock(impl_->mutex);
      impl_->flights.erase(&context);
    }
    grpc::ClientContext context;

   private:
    Impl* impl_;
  };

  bool Pause(Millis duration) {
    std::unique_lock lock(mutex);
    return !wake.wait_for(lock, std::chrono::milliseconds(duration), [&] { return interrupted; });
  }

  template <typename Request, typename Response>
  Status Call(grpc::Status (JobsService::Stub::*method)(grpc::ClientContext*, const Request&, Response*),
              const Request& request, Response* response) {
    const Millis deadline = MonotonicMillis() + timeout;
    Millis pause = kFirstRetryPause;
    while (true) {
      Flight flight(this);
      flight.context.set_deadline(In(std::max<Millis>(deadline - MonotonicMillis(), 1)));
      Status status = ToStatus(((*stub).*method)(&flight.context, request, response));
      bool again = status.code() == Code::kUnavailable && MonotonicMillis() + pause < deadline;
      if (!again || !Pause(pause)) return status;
      pause = std::min(pause * 2, kLongestRetryPause);
    }
  }

  template <typename Reader, typename Message>
  Status Stream(Flight* flight, Reader reader, Message* message, const std::function<bool(const Message&)>& each) {
    while (reader->Read(message)) {
      if (each(*message)) continue;
      flight->context.TryCancel();
      (void)reader->Finish();
      return OkStatus();
    }
    return ToStatus(reader->Finish());
  }

  std::optional<JobsService::Stub> stub;  // never empty
  std::string bearer;
  Millis timeout;
  std::mutex mutex;
  std::condition_variable wake;
  bool interrupted = false;                // under mutex
  std::set<grpc::ClientContext*> flights;  // under mutex
};

Client::Client(const Access& access, Millis timeout)
    : address_(access.address), timeout_(timeout), impl_(std::make_unique<Impl>(access, timeout)) {}
Client::~Client() = default;

void Client::MoveTo(const Access& access) {
  address_ = access.address;
  impl_->stub.emplace(MakeChannel(access.address));
  impl_->bearer = "Bearer " + access.token;
}

Status Client::Submit(const SubmitRequest& request, SubmitResponse* response) {
  return impl_->Call(&JobsService::Stub::Submit, request, response);
}
Status Client::List(const ListRequest& request, ListResponse* response) {
  return impl_->Call(&JobsService::Stub::List, request, response);
}
Status Client::GetJob(const GetJobRequest& request, JobDetail* response) {
  return impl_->Call(&JobsService::Stub::GetJob, request, response);
}
Status Client::Explain(const GetJobRequest& request, ExplainResponse* response) {
  return impl_->Call(&JobsService::Stub::Explain, request, response);
}
Status Client::Cancel(const CancelRequest& request, CancelResponse* response) {
  return impl_->Call(&JobsService::Stub::Cancel, request, response);
}
Status Client::ListNodes(ListNodesResponse* response) {
  return impl_->Call(&JobsService::Stub::ListNodes, ListNodesRequest(), response);
}
Status Client::DrainNode(const DrainNodeRequest& request, DrainNodeResponse* response) {
  return impl_->Call(&JobsService::Stub::DrainNode, request, response);
}
Status Client::GetServer(ServerInfo* response) {
  return impl_->Call(&JobsService::Stub::GetServer, GetServerRequest(), response);
}

Status Client::Watch(const WatchRequest& request, Millis until, const SummaryFn& each) {
  Impl::Flight flight(impl_.get());
  if (until != kNever) flight.context.set_deadline(In(std::max<Millis>(until - MonotonicMillis(), 1)));
  JobSummary summary;
  return impl_->Stream(&flight, impl_->stub->Watch(&flight.context, request), &summary, each);
}
Status Client::Events(const EventsRequest& request, const EventsFn& each) {
  Impl::Flight flight(impl_.get());
  EventBatch batch;
  return impl_->Stream(&flight, impl_->stub->Events(&flight.context, request), &batch, each);
}
Status Client::ReadLogs(const ReadLogsRequest& request, const ChunkFn& each) {
  Impl::Flight flight(impl_.get());
  LogChunk chunk;
  return impl_->Stream(&flight, impl_->stub->ReadLogs(&flight.context, request), &chunk, each);
}

void Client::Interrupt() {
  std::lock_guard lock(impl_->mutex);
  impl_->interrupted = true;
  for (grpc::ClientContext* context : impl_->flights) context->TryCancel();
  impl_->wake.notify_all();
}
bool Client::interrupted() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->interrupted;
}
bool Client::Pause(Millis duration) const { return impl_->Pause(duration); }

}  // namespace gt
