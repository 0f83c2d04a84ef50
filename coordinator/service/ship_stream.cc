#include "coordinator/service/ship_stream.h"

namespace gt {
namespace {

constexpr size_t kMaxWaitingBytes = 4u << 20;
constexpr size_t kMaxAppendBytes = 8u << 20;    // LogStore's own bound
constexpr size_t kMaxFrameBytes = 1u << 20;
constexpr uint32_t kMaxRank = 1u << 22;
constexpr int64_t kPauseMs = 2000;

Result<LogInput> ConvertFrame(const wire::LogFrame& frame) {
  LogInput input;
  input.uid = FromWire(frame.uid());
  input.from = {frame.rank(), frame.stream()};
  input.offset = frame.offset();
  input.data = frame.data();
  input.time_wall = frame.time_ms();
  bool right = !input.uid.empty() && frame.rank() <= kMaxRank && (frame.stream() == kStdout || frame.stream() == kStderr) &&
               frame.data().size() <= kMaxFrameBytes && frame.offset() <= uint64_t{1} << 60;
  if (!right) return Status(Code::kInvalidArgument, "a log frame without an attempt, or with a rank, stream or size out of range");
  return input;
}

}  // namespace

ShipStream* ShipStream::Begin(const ShipDeps& deps) {
  std::shared_ptr<ShipStream> stream(new ShipStream(deps));
  stream->self_ = stream;
  std::lock_guard lock(stream->mutex_);
  stream->MaybeRead();
  return stream.get();
}

void ShipStream::OnReadDone(bool ok) {
  std::lock_guard lock(mutex_);
  reading_ = false;
  if (!ok) return End(grpc::Status::OK);
  waiting_bytes_ += incoming_.ByteSizeLong();
  waiting_.emplace_back().Swap(&incoming_);
  if (!draining_) StartDrain();
  MaybeRead();
}

void ShipStream::MaybeRead() {
  if (reading_ || ending_ || waiting_bytes_ >= kMaxWaitingBytes) return;
  reading_ = true;
  StartRead(&incoming_);
}

void ShipStream::StartDrain() {
  draining_ = true;
  Status queued = deps_.pool->Run([self = shared_from_this()] { self->Drain(); });
  if (queued.ok()) return;
  draining_ = false;
  End(ToGrpc(queued));
}

void ShipStream::Drain() {
  std::unique_lock lock(mutex_);
  while (!waiting_.empty() && !ending_) {
    std::deque<wire::LogBatch> batches = std::move(waiting_);
    waiting_.clear();
    waiting_bytes_ = 0;
    MaybeRead();
    lock.unlock();
    Status appended = deps_.disk_is_low() ? Status(Code::kResourceExhausted, "the coordinator's disk is low; output waits on the nodes") : Append(batches);
    lock.lock();
    if (appended.ok()) {
      next_ack_.set_acked_offset(batches.back().end_offset());
      next_ack_.clear_pause_ms();
    } else if (appended.code() == Code::kResourceExhausted) {
      next_ack_.set_pause_ms(kPauseMs);  // what was not acknowledged comes again on the next stream
      ack_due_ = true;
      MaybeWrite();
      End(ToGrpc(appended));
      break;
    } else {
      End(ToGrpc(appended));
      break;
    }
    ack_due_ = true;
    MaybeWrite();
  }
  draining_ = false;
}

Status ShipStream::Append(const std::deque<wire::LogBatch>& batches) {
  std::vector<LogInput> inputs;
  size_t bytes = 0;
  for (const wire::LogBatch& batch : batches) {
    for (const wire::LogFrame& frame : batch.frames()) {
      GT_ASSIGN_OR_RETURN(LogInput input, ConvertFrame(frame));
      if (bytes + input.data.size() > kMaxAppendBytes) {
        GT_RETURN_IF_ERROR(deps_.logs->Append(inputs));
        inputs.clear();
        bytes = 0;
      }
      bytes += input.data.size();
      inputs.push_back(input);
    }
  }
  return inputs.empty() ? OkStatus() : deps_.logs->Append(inputs);
}

void ShipStream::MaybeWrite() {
  if (writing_ || finished_ || !ack_due_) return;
  outgoing_ = next_ack_;
  ack_due_ = false;
  writing_ = true;
  StartWrite(&outgoing_);
}

void ShipStream::OnWriteDone(bool ok) {
  std::lock_guard lock(mutex_);
  writing_ = false;
  if (!ok) return End(grpc::Status(grpc::StatusCode::UNAVAILABLE, "the worker is gone"));
  MaybeWrite();
  MaybeFinish();
}

void ShipStream::OnCancel() {
  std::lock_guard lock(mutex_);
  ack_due_ = false;
  End(grpc::Status(grpc::StatusCode::CANCELLED, "the worker is gone"));
}

void ShipStream::End(const grpc::Status& status) {
  if (!ending_) end_status_ = status;
  ending_ = true;
  MaybeFinish();
}

void ShipStream::MaybeFinish() {
  if (!ending_ || writing_ || finished_) return;
  finished_ = true;
  Finish(end_status_);
}

}  // namespace gt
