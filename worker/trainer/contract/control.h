// What the outside wants of this rank, and how the rank answers. One control thread reads the launcher's socket and the
// signals; the main thread asks, waits and sends. A newer rendezvous aborts whatever collective the main thread is in.
//
// Who wants this rank gone sets a flag, which travels with the next step, so that all ranks stop after the same one. When no
// step ends in time, because a peer is dead or stuck, the group is aborted: the rank then leaves with the state that it has.
//
// Thread-safe. The control thread ends the process itself in three cases that the main thread may be too stuck to see:
// the launcher is gone, `stop` was not obeyed within 5 s, a second SIGINT.
#pragma once
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "common/base/status.h"
#include "common/base/time.h"
#include "worker/trainer/contract/environment.h"
#include "worker/trainer/contract/line_socket.h"
#include "worker/trainer/contract/messages.h"

namespace gt::trainer {

// A group whose collectives can be failed from another thread.
class Abortable {
 public:
  virtual ~Abortable() = default;
  virtual void Abort(const std::string& why) = 0;  // at once, from any thread, more than once
  virtual std::string InFlight() = 0;              // the collectives that wait now, for people
};

// Blocks SIGTERM and SIGINT for this thread and all that it starts; the control thread reads them. Call it first of
// all.
void BlockStopSignals();

class Control {
 public:
  // Connects to the launcher and greets it when env.socket names one. Without one, the rendezvous is what env says.
  static Result<std::unique_ptr<Control>> Start(const Environment& env, const std::string& store_addr, int store_port);
  ~Control();

  bool has_launcher() const { return has_launcher_; }

  enum class Event { kDone, kRendezvous, kPreempt, kStop, kClosed, kTimeout };
  // Waits for `done()` or for the first thing that happens to a rank of this generation. `done` is called under the
  // lock; whoever makes it true calls Notify.
  Event Wait(Generation current, Millis timeout, const std::function<bool()>& done, bool preempt_counts);
  void Notify();

  std::optional<Rendezvous> latest() const;
  // Cheap: asked at each step.
  bool NewerThan(Generation current) const { return latest_generation_.load() > current.value; }
  bool preempted() const { return preempted_.load(); }
  bool stopped() const { return stopped_.load(); }

  // The group that a newer rendezvous or a stop aborts. Already overdue: it is aborted at once.
  void SetGroup(Generation generation, std::shared_ptr<Abortable> group);
  void ClearGroup();

  void Send(const std::string& line);          // nothing without a launcher
  void SendProgress(const Progress& progress);  // may be dropped when the launcher is slow
  // Until everything is sent, 1 s at most.
  void Drain();
  // From here on a closed socket is no accident.
  void MarkFinished(bool finished) { finished_ = finished; }

 private:
  Control() = default;
  void Loop();
  void OnLine(const std::string& line);
  void OnSignal();
  void OnClosed();
  void AbortGroup(const std::string& why);  // mutex_ held
  void Preempt(Millis patience);
  int PollTimeout() const;
  void LeaveIfDue();

  bool has_launcher_ = false;
  int signal_fd_ = -1, wake_fd_ = -1;
  Millis leave_by_ = kNever;  // the control thread's: when the group is aborted for a preemption
  std::thread thread_;
  std::atomic<bool> quit_{false}, stopped_{false}, preempted_{false}, finished_{false};
  std::atomic<uint32_t> latest_generation_{0};

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  LineSocket socket_;
  bool closed_ = false;
  std::optional<Rendezvous> latest_;
  Generation group_generation_;
  std::shared_ptr<Abortable> group_;
};

}  // namespace gt::trainer
