#include "worker/launcher/worker_server.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/os/unix_socket.h"

namespace gt::launcher {

namespace {
constexpr size_t kMaxConnections = 16;
constexpr size_t kMaxOut = 256u << 20;  // a worker that does not read this much is cut off; it comes back for a snapshot
}  // namespace

Status WorkerServer::Open(const std::string& path) {
  GT_ASSIGN_OR_RETURN(listen_, ListenUnix(path, 0600, 16));
  handle_ = poller_->Add(listen_.get(), EPOLLIN, [this](uint32_t) { Accept(); });
  return OkStatus();
}

void WorkerServer::Accept() {
  while (true) {
    Fd fd(accept4(listen_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.valid()) return;
    auto peer = PeerOf(fd.get());
    bool ours = peer.ok() && (peer->uid == geteuid() || peer->uid == 0);
    if (!ours || connections_.size() >= kMaxConnections) continue;
    uint64_t id = next_++;
    Connection& connection = connections_[id];
    connection.handle = poller_->Add(fd.get(), EPOLLIN, [this, id](uint32_t events) {
      Connection& one = connections_.at(id);
      if ((events & EPOLLOUT) != 0 && !Write(&one)) return Close(id);
      if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 && !OnReadable(id)) Close(id);
    });
    connection.fd = std::move(fd);
  }
}

// false: close it.
bool WorkerServer::OnReadable(uint64_t id) {
  Connection& connection = connections_.at(id);
  char buffer[65536];
  ssize_t got = recv(connection.fd.get(), buffer, sizeof buffer, 0);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  if (got == 0) return false;
  connection.parser.Append({buffer, static_cast<size_t>(got)});
  while (true) {
    auto message = connection.parser.Next();
    if (!message.ok()) return false;
    if (!message->has_value()) return true;
    if (!Take(&connection, **message)) return false;
  }
}

bool WorkerServer::Take(Connection* connection, const Message& message) {
  if (std::holds_alternative<Hello>(message)) {
    connection->greeted = true;
    handlers_.snapshot(&connection->out);
    return true;
  }
  if (!connection->greeted) return false;
  handlers_.message(message, [connection](const State& state) { AppendFrame(state, &connection->out); });
  return true;
}

void WorkerServer::Flush() {
  std::vector<uint64_t> broken;
  for (auto& [id, connection] : connections_) {
    if (connection.out.empty() || connection.waits) {
      if (connection.out.size() > kMaxOut) broken.push_back(id);
      continue;
    }
    if (!Write(&connection)) broken.push_back(id);
  }
  for (uint64_t id : broken) Close(id);
}

bool WorkerServer::Write(Connection* connection) {
  bool blocked = false;
  while (connection->sent < connection->out.size() && !blocked) {
    ssize_t put = send(connection->fd.get(), connection->out.data() + connection->sent,
                       connection->out.size() - connection->sent, MSG_NOSIGNAL);
    if (put > 0) connection->sent += static_cast<size_t>(put);
    blocked = put < 0 && errno == EAGAIN;
    if (put < 0 && errno != EAGAIN && errno != EINTR) return false;
  }
  connection->out.erase(0, connection->sent);
  connection->sent = 0;
  if (blocked != connection->waits) poller_->Modify(connection->handle, blocked ? EPOLLIN | EPOLLOUT : EPOLLIN);
  connection->waits = blocked;
  return true;
}

void WorkerServer::Close(uint64_t id) {
  auto node = connections_.extract(id);
  poller_->Remove(&node.mapped().handle);
}

}  // namespace gt::launcher
