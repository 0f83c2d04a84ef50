#include "coordinator/service/edge.h"

#include <pthread.h>

#include <charconv>

#include "common/base/vocabulary.h"

namespace gt {
namespace {

// Takes as long for a nearly right token as for a wrong one.
bool EqualInConstantTime(std::string_view given, std::string_view expected) {
  unsigned char difference = given.size() == expected.size() ? 0 : 1;
  for (size_t i = 0; i < expected.size(); i++)
    difference |= static_cast<unsigned char>(expected[i] ^ (i < given.size() ? given[i] : '\0'));
  return difference == 0;
}

}  // namespace

grpc::Status ToGrpc(const Status& status) {
  using grpc::StatusCode;
  auto code = [&] {
    switch (status.code()) {
      case Code::kOk: return StatusCode::OK;
      case Code::kInvalidArgument: return StatusCode::INVALID_ARGUMENT;
      case Code::kNotFound: return StatusCode::NOT_FOUND;
      case Code::kAlreadyExists: return StatusCode::ALREADY_EXISTS;
      case Code::kFailedPrecondition: return StatusCode::FAILED_PRECONDITION;
      case Code::kUnauthenticated: return StatusCode::UNAUTHENTICATED;
      case Code::kPermissionDenied: return StatusCode::PERMISSION_DENIED;
      case Code::kResourceExhausted: return StatusCode::RESOURCE_EXHAUSTED;
      case Code::kUnavailable: return StatusCode::UNAVAILABLE;
      case Code::kDeadlineExceeded: return StatusCode::DEADLINE_EXCEEDED;
      case Code::kDataLoss: return StatusCode::DATA_LOSS;
      case Code::kInternal: break;
    }
    return StatusCode::INTERNAL;
  }();
  return status.ok() ? grpc::Status::OK : grpc::Status(code, status.message());
}

Status Auth::Check(const grpc::ServerContextBase& context) const {
  const auto& metadata = context.client_metadata();
  auto token = metadata.find("authorization");
  if (token == metadata.end()) return {Code::kUnauthenticated, "this call carries no token; the access file of the coordinator has it"};
  if (!EqualInConstantTime({token->second.data(), token->second.size()}, expected_))
    return {Code::kUnauthenticated, "the token is not this cluster's; take the access file that the coordinator wrote"};
  auto given = metadata.find("gt-protocol");
  uint32_t protocol = 0;
  if (given != metadata.end()) std::from_chars(given->second.data(), given->second.data() + given->second.size(), protocol);
  if (protocol == kProtocolVersion) return OkStatus();
  std::string versions = "the caller speaks protocol " + std::to_string(protocol) + ", this coordinator " + std::to_string(kProtocolVersion);
  return {Code::kFailedPrecondition, versions + (protocol < kProtocolVersion ? ": upgrade the caller" : ": upgrade the coordinator")};
}

WorkPool::WorkPool(int threads, size_t max_waiting) : max_waiting_(max_waiting) {
  for (int i = 0; i < threads; i++) threads_.emplace_back([this] { Loop(); });
}

Status WorkPool::Run(std::function<void()> work) {
  std::lock_guard lock(mutex_);
  if (stopping_) return {Code::kUnavailable, "the coordinator is stopping"};
  if (waiting_.size() >= max_waiting_) return {Code::kResourceExhausted, "the coordinator has too many requests waiting; try again"};
  waiting_.push_back(std::move(work));
  wake_.notify_one();
  return OkStatus();
}

void WorkPool::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
  }
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

void WorkPool::Loop() {
  pthread_setname_np(pthread_self(), "gt-pool");
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    std::function<void()> work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    work();
    work = nullptr;
    lock.lock();
  }
}

}  // namespace gt
