#include "cli/watch.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <thread>

#include "cli/render.h"
#include "common/os/clock.h"
#include "common/text/text.h"

namespace gt {

using namespace gridtrain::v1;

namespace {
constexpr Millis kFirstPause = 100;
constexpr Millis kLongestPause = 1000;
}  // namespace

bool Reconnect::Wait(Client* client, Millis until) {
  pause_ = pause_ == 0 ? kFirstPause : std::min(pause_ * 2, kLongestPause);
  if (!told_ && !client->interrupted())
    session_->Note("lost the coordinator at " + Printable(client->address()) + "; reconnecting, the job runs on");
  told_ = true;
  if (until != kNever && ReadClock().mono + pause_ >= until) return false;
  if (!client->Pause(pause_)) return false;
  // It may have come back on another port: the access file tells.
  Result<Access> access = session_->FindAccess();
  if (access.ok() && access->address != client->address()) client->MoveTo(*access);
  return true;
}

void Reconnect::Reached() {
  if (told_) session_->Note("reached the coordinator again");
  told_ = false;
  pause_ = 0;
}

Result<JobSummary> WatchJob(Session* session, Client* client, const TaskSelector& job, Millis until,
                            const std::function<bool(const JobSummary&)>& each) {
  WatchRequest request;
  request.set_job_id(job.job.value);
  if (job.index) request.set_task_index(*job.index);
  Reconnect reconnect(session);
  JobSummary last;
  bool enough = false;
  while (true) {
    Status status = client->Watch(request, until, [&](const JobSummary& summary) {
      reconnect.Reached();
      last = summary;
      enough = !each(summary) || IsFinalJob(summary);
      return !enough;
    });
    if (enough) return last;
    if (client->interrupted()) return Status(Code::kUnavailable, "interrupted");
    if (until != kNever && ReadClock().mono >= until) return Status(Code::kDeadlineExceeded, "still running");
    // A stream that ends without a final summary is a coordinator that stops.
    if (!status.ok() && status.code() != Code::kUnavailable && status.code() != Code::kDeadlineExceeded) return status;
    if (!reconnect.Wait(client, until)) {
      if (client->interrupted()) return Status(Code::kUnavailable, "interrupted");
      return Status(Code::kDeadlineExceeded, "still running");
    }
  }
}

namespace {

// A signal handler can reach nothing but a static. -1: no guard lives.
std::atomic<int> interrupt_fd = -1;
static_assert(std::atomic<int>::is_always_lock_free);

void OnInterrupt(int) {
  const int error = errno;
  const uint64_t one = 1;
  (void)!::write(interrupt_fd, &one, sizeof one);
  errno = error;
}

}  // namespace

struct InterruptGuard::Impl {
  // Waits for the first byte: Ctrl-C, or the guard's end.
  void Listen() {
    uint64_t count = 0;
    while (::read(event, &count, sizeof count) < 0 && errno == EINTR) {
    }
    std::lock_guard lock(mutex);
    if (over) return;
    pending = true;
    if (client) client->Interrupt();
  }

  int event = ::eventfd(0, EFD_CLOEXEC);
  struct sigaction before = {};
  std::mutex mutex;
  Client* client = nullptr;  // under mutex
  bool pending = false;      // under mutex: it came before there was a client
  bool over = false;         // under mutex
  std::thread thread;
};

InterruptGuard::InterruptGuard() : impl_(std::make_unique<Impl>()) {
  interrupt_fd = impl_->event;
  struct sigaction action = {};
  action.sa_handler = OnInterrupt;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, &action, &impl_->before);
  impl_->thread = std::thread([impl = impl_.get()] { impl->Listen(); });
}

InterruptGuard::~InterruptGuard() {
  ::sigaction(SIGINT, &impl_->before, nullptr);
  {
    std::lock_guard lock(impl_->mutex);
    impl_->over = true;
  }
  OnInterrupt(0);
  impl_->thread.join();
  interrupt_fd = -1;
  ::close(impl_->event);
}

void InterruptGuard::Attach(Client* client) {
  std::lock_guard lock(impl_->mutex);
  impl_->client = client;
  if (client && impl_->pending) client->Interrupt();
}

}  // namespace gt
