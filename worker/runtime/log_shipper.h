// Sends what ranks print to the coordinator: reads the launcher's spool from the last acknowledged place, over a
// connection of its own, so that output never delays beats. Acknowledged output is told to the launcher, which deletes
// it. After a restart or a broken connection it is sent again from the last acknowledgement; the coordinator drops what
// it has by (attempt, rank, stream, offset).
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "common/os/fd.h"
#include "worker/runtime/sync_client.h"

namespace grpc {
class ClientContext;
}

namespace gt::worker {

struct LogShipperOptions {
  std::string node_name;
  Uid node_uid;
  std::string ack_file;              // remembers the acknowledged place over restarts
  size_t batch_bytes = 256 << 10;
  uint64_t window_bytes = 8 << 20;   // of output sent and not yet acknowledged
};

class LogShipper {
 public:
  // `acked` is called on a thread of the shipper for each acknowledgement; `log` with one line for people.
  LogShipper(LogShipperOptions options, TargetSource target, std::function<void(uint64_t offset)> acked,
             std::function<void(const std::string&)> log);
  ~LogShipper() { Stop(); }

  void Start();
  void Stop();  // joins; what is not acknowledged stays in the spool. May be repeated
  // Any thread. The directory is told at each connection to a launcher, before its end.
  void SetSpool(const std::string& dir);
  void Advance(uint64_t end);

 private:
  struct Call;
  void Run();
  void Ship(Call* call, const std::string& dir);
  void ReadAcks(Call* call);
  // Waits until there is something to send behind `sent` within the window. false: stop or the call is over.
  bool WaitForWork(Call* call, uint64_t sent, uint64_t* end);
  void Acknowledge(uint64_t offset);
  bool Pause(Millis time);  // false once stopped

  LogShipperOptions options_;
  TargetSource target_;
  std::function<void(uint64_t)> acked_callback_;
  std::function<void(const std::string&)> log_;
  Fd ack_file_;
  std::thread thread_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::string dir_;
  uint64_t end_ = 0;
  uint64_t acked_ = 0;
  // Counted in bytes, not in positions: between the output of two launchers lies a wide gap.
  struct Sent {
    uint64_t end = 0, bytes = 0;
  };
  std::deque<Sent> unacked_;         // of the present call
  uint64_t unacked_bytes_ = 0;
  Millis resume_at_ = 0;             // the coordinator asked for a pause until then
  bool stop_ = false;
  Call* call_ = nullptr;             // the present one, to be cancelled by Stop
};

}  // namespace gt::worker
