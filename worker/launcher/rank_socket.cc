#include "worker/launcher/rank_socket.h"

#include <errno.h>
#include <sys/socket.h>

#include <nlohmann/json.hpp>

#include "common/os/unix_socket.h"

namespace gt::launcher {

namespace {
constexpr size_t kMaxConnections = 8192, kMaxLine = 256 << 10, kMaxHello = 4096, kMaxOut = 1 << 20;
constexpr Millis kHelloWithin = 10 * kSecond;

std::string Text(const nlohmann::json& json, const char* name) {
  auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

int64_t Number(const nlohmann::json& json, const char* name, int64_t otherwise) {
  auto found = json.find(name);
  return found != json.end() && found->is_number_integer() ? found->get<int64_t>() : otherwise;
}
}  // namespace

Status RankSocket::Open(const std::string& path) {
  GT_ASSIGN_OR_RETURN(listen_, ListenUnix(path, 0666, 1024));
  handle_ = poller_->Add(listen_.get(), EPOLLIN, [this](uint32_t) { Accept(); });
  return OkStatus();
}

void RankSocket::Accept() {
  while (true) {
    Fd fd(accept4(listen_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.valid()) return;
    if (connections_.size() >= kMaxConnections) CloseSilent();
    if (connections_.size() >= kMaxConnections) continue;  // refused
    uint64_t id = next_++;
    Connection& connection = connections_[id];
    connection.handle = poller_->Add(fd.get(), EPOLLIN, [this, id](uint32_t events) { OnEvent(id, events); });
    connection.fd = std::move(fd);
    connection.since = poller_->now().mono;
  }
}

// Strangers may connect and say nothing: their places are taken back when they are needed.
void RankSocket::CloseSilent() {
  std::vector<uint64_t> silent;
  for (const auto& [id, connection] : connections_)
    if (connection.listener == nullptr && poller_->now().mono - connection.since > kHelloWithin) silent.push_back(id);
  for (uint64_t id : silent) Close(id, false);
}

void RankSocket::OnEvent(uint64_t id, uint32_t events) {
  Connection& connection = connections_.at(id);
  if ((events & EPOLLOUT) != 0 && !Write(&connection)) return Close(id, true);
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 && !ReadSome(id) && connections_.count(id) != 0) Close(id, true);
}

// false: close it.
bool RankSocket::ReadSome(uint64_t id) {
  char buffer[16384];
  ssize_t got = recv(connections_.at(id).fd.get(), buffer, sizeof buffer, 0);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  if (got == 0) return false;
  connections_.at(id).in.append(buffer, static_cast<size_t>(got));
  while (true) {
    auto found = connections_.find(id);
    if (found == connections_.end()) return true;  // closed by what a line caused
    std::string& in = found->second.in;
    size_t limit = found->second.listener == nullptr ? kMaxHello : kMaxLine, end = in.find('\n');
    if (std::min(end, in.size()) > limit) return false;
    if (end == std::string::npos) return true;
    std::string line = in.substr(0, end);
    in.erase(0, end + 1);
    if (!TakeLine(id, std::move(line))) return false;
  }
}

bool RankSocket::TakeLine(uint64_t id, std::string line) {
  Connection& connection = connections_.at(id);
  if (connection.listener == nullptr) return TakeHello(id, line);
  auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object()) return false;
  RankLine said{Text(json, "type"), "", std::move(line)};
  if (said.type == "failure") said.message = Text(json, "message");
  connection.listener->OnLine(connection.local_rank, said);
  return true;
}

bool RankSocket::TakeHello(uint64_t id, const std::string& line) {
  auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object() || Text(json, "type") != "hello") return false;
  Connection& connection = connections_.at(id);
  connection.key = Text(json, "key");
  auto listener = listeners_.find(connection.key);
  if (listener == listeners_.end()) return false;
  RankHello hello;
  hello.rank = Number(json, "rank", -1);
  hello.said_pid = static_cast<pid_t>(Number(json, "pid", 0));
  if (auto peer = PeerOf(connection.fd.get()); peer.ok()) hello.peer_pid = peer->pid;
  hello.store_addr = Text(json, "store_addr");
  int64_t port = Number(json, "store_port", 0);
  hello.store_port = port > 0 && port < 65536 ? static_cast<uint16_t>(port) : 0;
  int local_rank = listener->second->OnHello(hello);
  if (local_rank < 0) return false;
  connection.listener = listener->second;
  connection.local_rank = static_cast<uint32_t>(local_rank);
  connection.listener->OnConnected(connection.local_rank, id, hello);
  return true;
}

void RankSocket::Send(uint64_t id, const std::string& line) {
  auto found = connections_.find(id);
  if (found == connections_.end()) return;
  found->second.out += line;
  found->second.out += '\n';
  if (found->second.out.size() > kMaxOut || !Write(&found->second)) {
    poller_->After(0, [this, id] { if (connections_.count(id) != 0) Close(id, true); });
  }
}

bool RankSocket::Write(Connection* connection) {
  while (!connection->out.empty()) {
    ssize_t put = send(connection->fd.get(), connection->out.data(), connection->out.size(), MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno != EAGAIN) return false;
    if (put < 0) break;
    connection->out.erase(0, static_cast<size_t>(put));
  }
  poller_->Modify(connection->handle, connection->out.empty() ? EPOLLIN : EPOLLIN | EPOLLOUT);
  return true;
}

void RankSocket::Close(uint64_t id, bool tell) {
  auto node = connections_.extract(id);
  poller_->Remove(&node.mapped().handle);
  if (tell && node.mapped().listener != nullptr) node.mapped().listener->OnDisconnected(node.mapped().local_rank, id);
}

void RankSocket::Unregister(const std::string& key) {
  RankListener* listener = nullptr;
  if (auto found = listeners_.find(key); found != listeners_.end()) {
    listener = found->second;
    listeners_.erase(found);
  }
  if (listener == nullptr) return;
  std::vector<uint64_t> theirs;
  for (const auto& [id, connection] : connections_)
    if (connection.listener == listener) theirs.push_back(id);
  for (uint64_t id : theirs) Close(id, false);
}

}  // namespace gt::launcher
