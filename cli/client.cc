#include "cli/client.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <vector>

#include "cli/grpc_call.h"
#include "common/base/vocabulary.h"
#include "common/os/clock.h"

namespace gt {

using namespace gridtrain::v1;

namespace {
constexpr Millis kFirstRetryPause = 20;
constexpr Millis kLongestRetryPause = 500;
constexpr Millis kTellAfter = kSecond;
constexpr char kService[] = "/gridtrain.v1.JobsService/";
using google::protobuf::MessageLite;
}  // namespace

// A call has a connection to itself; those that are free wait for the next one.
struct Client::Impl {
  Impl(const Access& access, Millis call_timeout)
      : address(access.address), token(access.token), timeout(call_timeout), interrupt(::eventfd(0, EFD_CLOEXEC)) {}

  bool Interrupted() const { return !Pause(0); }

  bool Pause(Millis duration) const {
    pollfd wake = {interrupt.get(), POLLIN, 0};
    Millis until = ReadClock().mono + duration;
    while (true) {
      int ready = ::poll(&wake, 1, static_cast<int>(std::max<Millis>(until - ReadClock().mono, 0)));
      if (ready > 0) return false;
      if (ready == 0 || errno != EINTR) return true;
    }
  }

  Result<std::unique_ptr<GrpcConnection>> Take(Millis until) {
    {
      std::lock_guard lock(mutex);
      while (!idle.empty()) {
        std::unique_ptr<GrpcConnection> connection = std::move(idle.back());
        idle.pop_back();
        if (connection->reusable()) return connection;
      }
    }
    return GrpcConnection::Open(address, until, interrupt.get());
  }

  void GiveBack(std::unique_ptr<GrpcConnection> connection) {
    if (!connection->reusable()) return;
    std::lock_guard lock(mutex);
    idle.push_back(std::move(connection));
  }

  // Hands each message of the answer to `each` until it answers false.
  Status CallOnce(const char* method, const MessageLite& request, Millis until, MessageLite* message,
                  const std::function<bool()>& each) {
    GT_ASSIGN_OR_RETURN(std::unique_ptr<GrpcConnection> connection, Take(until));
    GrpcRequest call{kService + std::string(method), {}, request.SerializeAsString(), until};
    call.metadata = {{"authorization", "Bearer " + token}, {"gt-protocol", std::to_string(kProtocolVersion)}};
    GT_RETURN_IF_ERROR(connection->Start(std::move(call)));
    while (true) {
      GT_ASSIGN_OR_RETURN(std::optional<std::string> bytes, connection->Next());
      if (!bytes) break;
      if (!message->ParseFromString(*bytes)) return Status(Code::kInternal, "the coordinator's answer cannot be read");
      if (!each()) return OkStatus();
    }
    GiveBack(std::move(connection));
    return OkStatus();
  }

  Status Call(const char* method, const MessageLite& request, MessageLite* response) {
    const Millis begun = ReadClock().mono, deadline = begun + timeout;
    Millis pause = kFirstRetryPause;
    bool told = false;
    while (true) {
      bool answered = false;
      Status status = CallOnce(method, request, deadline, response, [&] { return answered = true; });
      if (status.ok() && !answered) status = Status(Code::kInternal, "the coordinator's answer is empty");
      bool again = status.code() == Code::kUnavailable && ReadClock().mono + pause < deadline;
      if (!again || !Pause(pause)) return status;
      if (!told && waiting && ReadClock().mono - begun >= kTellAfter) waiting(status), told = true;
      pause = std::min(pause * 2, kLongestRetryPause);
    }
  }

  template <typename Message>
  Status Stream(const char* method, const MessageLite& request, Millis until,
                const std::function<bool(const Message&)>& each) {
    Message message;
    return CallOnce(method, request, until, &message, [&] { return each(message); });
  }

  std::string address, token;
  const Millis timeout;
  std::function<void(const Status&)> waiting;
  Fd interrupt;  // readable once interrupted, for good
  std::mutex mutex;
  std::vector<std::unique_ptr<GrpcConnection>> idle;  // under mutex
};

Client::Client(const Access& access, Millis timeout)
    : address_(access.address), impl_(std::make_unique<Impl>(access, timeout)) {}
Client::~Client() = default;

void Client::MoveTo(const Access& access) {
  address_ = impl_->address = access.address;
  impl_->token = access.token;
  impl_->idle.clear();
}

void Client::OnWaiting(std::function<void(const Status& why)> waiting) { impl_->waiting = std::move(waiting); }

Status Client::Submit(const SubmitRequest& request, SubmitResponse* response) {
  return impl_->Call("Submit", request, response);
}
Status Client::List(const ListRequest& request, ListResponse* response) {
  return impl_->Call("List", request, response);
}
Status Client::GetJob(const GetJobRequest& request, JobDetail* response) {
  return impl_->Call("GetJob", request, response);
}
Status Client::Explain(const GetJobRequest& request, ExplainResponse* response) {
  return impl_->Call("Explain", request, response);
}
Status Client::Cancel(const CancelRequest& request, CancelResponse* response) {
  return impl_->Call("Cancel", request, response);
}
Status Client::ListNodes(ListNodesResponse* response) {
  return impl_->Call("ListNodes", ListNodesRequest(), response);
}
Status Client::DrainNode(const DrainNodeRequest& request, DrainNodeResponse* response) {
  return impl_->Call("DrainNode", request, response);
}
Status Client::GetServer(ServerInfo* response) {
  return impl_->Call("GetServer", GetServerRequest(), response);
}

Status Client::Backup(const BackupRequest& request, DatabaseFile* response) {
  return impl_->Call("Backup", request, response);
}
Status Client::Check(const CheckRequest& request, DatabaseFile* response) {
  return impl_->Call("Check", request, response);
}

Status Client::Watch(const WatchRequest& request, Millis until, const SummaryFn& each) {
  return impl_->Stream<JobSummary>("Watch", request, until, each);
}
Status Client::Events(const EventsRequest& request, const EventsFn& each) {
  return impl_->Stream<EventBatch>("Events", request, kNever, each);
}
Status Client::ReadLogs(const ReadLogsRequest& request, const ChunkFn& each) {
  return impl_->Stream<LogChunk>("ReadLogs", request, kNever, each);
}

void Client::Interrupt() {
  uint64_t one = 1;
  (void)!::write(impl_->interrupt.get(), &one, sizeof one);
}
bool Client::interrupted() const { return impl_->Interrupted(); }
bool Client::Pause(Millis duration) const { return impl_->Pause(duration); }

}  // namespace gt
