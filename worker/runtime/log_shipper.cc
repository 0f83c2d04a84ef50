#include "worker/runtime/log_shipper.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "common/os/clock.h"
#include "common/os/file.h"
#include "gridtrain/v1/worker_service.grpc.pb.h"
#include "worker/launcher/spool.h"
#include "worker/runtime/convert.h"
#include "worker/runtime/grpc_channel.h"

namespace gt::worker {
namespace v1 = gridtrain::v1;
namespace {
constexpr Millis kLongestPause = 2000;
constexpr Millis kLongestAskedPause = 60 * kSecond;
}

struct LogShipper::Call {
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReaderWriter<v1::LogBatch, v1::LogBatchAck>> stream;
  bool over = false;       // the coordinator ended it; guarded by LogShipper::mutex_
  bool got_ack = false;
};

LogShipper::LogShipper(LogShipperOptions options, TargetSource target, std::function<void(uint64_t)> acked,
                       std::function<void(const std::string&)> log)
    : options_(std::move(options)),
      target_(std::move(target)),
      acked_callback_(std::move(acked)),
      log_(std::move(log)) {
  Result<Fd> file = OpenFile(options_.ack_file, O_RDWR | O_CREAT, 0600);
  if (!file.ok()) {
    log_("what was acknowledged is not remembered: " + file.status().message());
    return;
  }
  ack_file_ = std::move(file).value();
  uint64_t offset = 0;
  if (pread(ack_file_.get(), &offset, sizeof offset, 0) == sizeof offset) acked_ = offset;
}

void LogShipper::Stop() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
    if (call_) call_->context.TryCancel();
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void LogShipper::Start() { thread_ = std::thread([this] { Run(); }); }

void LogShipper::SetSpool(const std::string& dir) {
  std::lock_guard lock(mutex_);
  dir_ = dir;
  end_ = 0;
}

void LogShipper::Advance(uint64_t end) {
  std::lock_guard lock(mutex_);
  // The launcher's directory was made anew: what was acknowledged belonged to another one.
  if (acked_ > end && end_ == 0) acked_ = 0;
  end_ = std::max(end_, end);
  changed_.notify_all();
}

bool LogShipper::Pause(Millis time) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::milliseconds(time), [this] { return stop_; });
  return !stop_;
}

void LogShipper::Run() {
  Millis pause = 50;
  while (true) {
    std::string dir;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stop_ || (end_ > acked_ && !dir_.empty()); });
      if (stop_) return;
      dir = dir_;
    }
    Result<Target> target = target_();
    if (target.ok()) {
      Call call;
      AddCredentials(*target, &call.context);
      auto stub = v1::WorkerService::NewStub(OpenChannel(*target));
      {
        std::lock_guard lock(mutex_);
        if (stop_) return;
        call_ = &call;
      }
      call.stream = stub->ShipLogs(&call.context);
      std::thread reader([this, &call] { ReadAcks(&call); });
      Ship(&call, dir);
      call.context.TryCancel();
      reader.join();
      call.stream->Finish();
      std::lock_guard lock(mutex_);
      call_ = nullptr;
      if (call.got_ack) pause = 50;
    }
    if (!Pause(pause)) return;
    pause = std::min(pause * 2, kLongestPause);
  }
}

bool LogShipper::WaitForWork(Call* call, uint64_t sent, uint64_t* end) {
  std::unique_lock lock(mutex_);
  while (!stop_ && !call->over) {
    Millis now = ReadClock().mono;
    bool room = unacked_bytes_ < options_.window_bytes;
    if (now < resume_at_) {
      changed_.wait_for(lock, std::chrono::milliseconds(resume_at_ - now));
    } else if (end_ > sent && room) {
      *end = end_;
      return true;
    } else {
      changed_.wait(lock);
    }
  }
  return false;
}

void LogShipper::Ship(Call* call, const std::string& dir) {
  launcher::SpoolReader reader(dir);
  v1::LogBatch batch;
  batch.set_node_name(options_.node_name);
  UidToProto(options_.node_uid, batch.mutable_node_uid());
  uint64_t sent = 0, end = 0;
  {
    std::lock_guard lock(mutex_);
    sent = acked_;
    unacked_.clear();
    unacked_bytes_ = 0;
  }
  while (WaitForWork(call, sent, &end)) {
    auto frames = reader.Next(sent, end, options_.batch_bytes);
    if (!frames.ok()) {
      log_("output was lost: " + frames.status().message());
      auto next = reader.SkipSegment(sent, end);
      if (!next.ok() || *next <= sent) return;
      sent = *next;
      continue;
    }
    if (frames->empty()) {  // only a gap before `end`
      sent = end;
      continue;
    }
    Millis now = ReadClock().wall;
    uint64_t bytes = 0;
    for (launcher::SpoolFrame& frame : *frames) {
      bytes += frame.bytes.size();
      v1::LogFrame* out = batch.add_frames();
      UidToProto(frame.uid, out->mutable_uid());
      out->set_rank(frame.rank);
      out->set_stream(static_cast<uint32_t>(frame.stream));
      out->set_offset(frame.stream_offset);
      out->set_data(std::move(frame.bytes));
      out->set_time_ms(now);
    }
    sent = frames->back().next;
    batch.set_end_offset(sent);
    {
      std::lock_guard lock(mutex_);
      unacked_.push_back({sent, bytes});
      unacked_bytes_ += bytes;
    }
    if (!call->stream->Write(batch)) return;
    batch.Clear();
  }
}

void LogShipper::ReadAcks(Call* call) {
  v1::LogBatchAck ack;
  while (call->stream->Read(&ack)) {
    if (ack.pause_ms() > 0) {
      std::lock_guard lock(mutex_);
      resume_at_ = ReadClock().mono + std::min<Millis>(ack.pause_ms(), kLongestAskedPause);
    }
    if (ack.has_acked_offset()) Acknowledge(ack.acked_offset());
    std::lock_guard lock(mutex_);
    call->got_ack = true;
    changed_.notify_all();
  }
  std::lock_guard lock(mutex_);
  call->over = true;
  changed_.notify_all();
}

void LogShipper::Acknowledge(uint64_t offset) {
  {
    std::lock_guard lock(mutex_);
    if (offset <= acked_ || offset > end_) return;  // never more than there is, whatever the other side says
    acked_ = offset;
    for (; !unacked_.empty() && unacked_.front().end <= offset; unacked_.pop_front()) unacked_bytes_ -= unacked_.front().bytes;
  }
  // Lost by a power cut at worst: then some output is sent twice, and dropped there.
  if (ack_file_.valid()) (void)!pwrite(ack_file_.get(), &offset, sizeof offset, 0);
  acked_callback_(offset);
}

}  // namespace gt::worker
