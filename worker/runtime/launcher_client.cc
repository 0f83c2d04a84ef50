#include "worker/runtime/launcher_client.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "common/os/file.h"
#include "common/os/process.h"
#include "common/os/unix_socket.h"
#include "worker/runtime/job_user.h"
#include "worker/runtime/launcher_convert.h"

namespace gt::worker {
namespace {
constexpr int kRetryMillis = 20;
constexpr int kStartAgainAfter = 100;     // tries without an answer before another launcher is started (2 s)
}  // namespace

LauncherClient::LauncherClient(LauncherOptions options, LauncherEvents events)
    : options_(std::move(options)), events_(std::move(events)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void LauncherClient::Stop() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  eventfd_write(wake_.get(), 1);
  if (thread_.joinable()) thread_.join();
}

void LauncherClient::EndIdle() {
  Reap();
  for (int pid : children_) kill(pid, SIGTERM);  // not reaped: the pid cannot be another's
}

void LauncherClient::Start() { thread_ = std::thread([this] { Run(); }); }

void LauncherClient::Send(std::vector<Command> commands) {
  if (commands.empty()) return;
  {
    std::lock_guard lock(mutex_);
    if (!connected_) return;
    for (Command& command : commands) commands_.push_back(std::move(command));
  }
  eventfd_write(wake_.get(), 1);
}

void LauncherClient::Run() {
  while (true) {
    Fd socket = Open();
    if (!socket.valid()) return;
    {
      std::lock_guard lock(mutex_);
      connected_ = true;
    }
    Serve(socket.get());
    {
      std::lock_guard lock(mutex_);
      connected_ = false;
      commands_.clear();
      if (stop_) return;
    }
    events_.log("the launcher is gone; its ranks are found again through the next one");
    news_.clear();
    events_.inputs({LauncherLost{}});
  }
}

Fd LauncherClient::Open() {
  for (int attempt = 0;; ++attempt) {
    Result<Fd> socket = ConnectUnix(options_.dir + "/launcher.sock");
    if (socket.ok()) {
      Result<PeerCredentials> peer = PeerOf(socket->get());
      if (peer.ok() && (peer->uid == geteuid() || peer->uid == 0)) {
        if (SetNonBlocking(socket->get()).ok()) return std::move(socket).value();
      }
      events_.log("somebody else listens on " + options_.dir + "/launcher.sock");
    }
    if (attempt % kStartAgainAfter == 0) StartLauncher();
    if (!WaitFor(kRetryMillis)) return Fd();
    Reap();
  }
}

bool LauncherClient::WaitFor(int milliseconds) {
  pollfd wake{wake_.get(), POLLIN, 0};
  poll(&wake, 1, milliseconds);
  eventfd_t count;
  eventfd_read(wake_.get(), &count);
  std::lock_guard lock(mutex_);
  return !stop_;
}

void LauncherClient::StartLauncher() {
  SpawnOptions spawn;
  spawn.argv = {options_.program, "--dir", options_.dir};
  spawn.argv.insert(spawn.argv.end(), options_.arguments.begin(), options_.arguments.end());
  for (const auto& [key, value] : options_.env) spawn.env.push_back(key + "=" + value);
  spawn.inherit_env = false;
  spawn.new_session = true;
  Result<Fd> output = OpenFile(options_.dir + "/launcher.out", O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (output.ok()) spawn.stdout_fd = spawn.stderr_fd = output->get();
  Result<pid_t> pid = Spawn(spawn);
  if (!pid.ok()) return events_.log("cannot start the launcher: " + pid.status().message());
  children_.push_back(*pid);
  events_.log("started the launcher, pid " + std::to_string(*pid));
}

void LauncherClient::Reap() {
  std::erase_if(children_, [this](int pid) {
    int status = 0;
    if (waitpid(pid, &status, WNOHANG) == 0) return false;
    ExitStatus end = DecodeWaitStatus(status);
    std::string how = end.signal ? "signal " + std::to_string(end.signal) : "exit code " + std::to_string(end.code);
    events_.log("launcher " + std::to_string(pid) + " ended: " + how + " (see " + options_.dir + "/launcher.out)");
    return true;
  });
}

void LauncherClient::Serve(int socket) {
  launcher::FrameParser parser;
  std::string out;
  launcher::AppendFrame(launcher::Hello{}, &out);
  in_snapshot_ = true;
  snapshot_ = {};
  while (true) {
    if (out.empty()) Encode(&out);
    pollfd fds[2] = {{socket, static_cast<short>(POLLIN | (out.empty() ? 0 : POLLOUT)), 0}, {wake_.get(), POLLIN, 0}};
    poll(fds, 2, 1000);
    Reap();
    if (fds[1].revents) {
      eventfd_t count;
      eventfd_read(wake_.get(), &count);
      std::lock_guard lock(mutex_);
      if (stop_) return;
    }
    if (fds[0].revents & POLLOUT) {
      ssize_t sent = send(socket, out.data(), out.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno != EAGAIN && errno != EINTR) return;
      if (sent > 0) out.erase(0, static_cast<size_t>(sent));
    }
    if ((fds[0].revents & (POLLIN | POLLHUP | POLLERR)) && !ReadSome(socket, &parser)) return;
  }
}

// One read, everything that is whole in it, one batch of news.
bool LauncherClient::ReadSome(int socket, launcher::FrameParser* parser) {
  char buffer[256 << 10];
  ssize_t got = recv(socket, buffer, sizeof buffer, 0);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  if (got == 0) return false;
  parser->Append({buffer, static_cast<size_t>(got)});
  bool ok = TakeFrames(parser);
  if (!news_.empty()) events_.inputs(std::exchange(news_, {}));
  return ok;
}

bool LauncherClient::TakeFrames(launcher::FrameParser* parser) {
  while (true) {
    Result<std::optional<launcher::Message>> next = parser->Next();
    if (!next.ok()) {
      events_.log("the launcher's stream is broken: " + next.status().message());
      return false;
    }
    if (!next->has_value()) return true;
    launcher::Message& message = **next;
    if (auto* reply = std::get_if<launcher::HelloReply>(&message)) {
      snapshot_.containment = reply->containment;
      events_.spool(reply->spool_dir);
    } else if (auto* state = std::get_if<launcher::State>(&message)) {
      LauncherState told = FromLauncher(std::move(*state), options_.node_address);
      if (in_snapshot_) snapshot_.attempts.push_back(std::move(told));
      else news_.push_back(std::move(told));
    } else if (std::holds_alternative<launcher::SnapshotEnd>(message)) {
      in_snapshot_ = false;
      // What ranks said before is news about attempts that this snapshot brings.
      news_.insert(news_.begin(), std::move(snapshot_));
    } else if (auto* said = std::get_if<launcher::RankSaid>(&message)) {
      if (std::optional<RankSaid> parsed = ParseRankLine(said->uid, said->line)) news_.push_back(std::move(*parsed));
    } else if (auto* advance = std::get_if<launcher::SpoolAdvance>(&message)) {
      events_.spool_advance(advance->end);
    }
  }
}

void LauncherClient::Encode(std::string* out) {
  std::vector<Command> commands;
  {
    std::lock_guard lock(mutex_);
    commands.swap(commands_);
  }
  for (Command& command : commands) {
    if (auto* start = std::get_if<StartAttempt>(&command)) {
      MakeDirectory(start->start);
      launcher::AppendFrame(ToLauncher(start->start), out);
    } else {
      std::visit([out](auto& other) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(other)>, StartAttempt>) launcher::AppendFrame(other, out);
      }, command);
    }
  }
}

// A rank that finds no directory says so itself, so a failure here is only logged.
void LauncherClient::MakeDirectory(const LauncherStart& start) {
  if (start.make_dir.empty()) return;
  Status made = MakeDirectories(start.make_dir, 0755);
  if (made.ok() && geteuid() == 0) made = GiveToUser(start.make_dir, options_.job_user);
  if (made.ok()) return;
  std::string job = std::to_string(start.job_id.value);
  events_.log("cannot make the checkpoint directory of job " + job + ": " + made.message());
}

}  // namespace gt::worker
