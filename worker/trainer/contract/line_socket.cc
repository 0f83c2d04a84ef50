#include "worker/trainer/contract/line_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace gt::trainer {
namespace {
constexpr size_t kMostUnsentBytes = 256 * 1024;
constexpr size_t kMostLineBytes = 64 * 1024;
}  // namespace

LineSocket::~LineSocket() { Close(); }

LineSocket::LineSocket(LineSocket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), outbox_(std::move(other.outbox_)), inbox_(std::move(other.inbox_)) {}

LineSocket& LineSocket::operator=(LineSocket&& other) noexcept {
  if (this != &other) {
    Close();
    fd_ = std::exchange(other.fd_, -1);
    outbox_ = std::move(other.outbox_);
    inbox_ = std::move(other.inbox_);
  }
  return *this;
}

void LineSocket::Close() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

Result<LineSocket> LineSocket::Connect(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return Status(Code::kInvalidArgument, "GT_SOCKET is longer than a unix socket's path may be: " + path);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return ErrnoStatus(errno, "socket");
  LineSocket socket(fd);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    return ErrnoStatus(errno, "connect to the launcher at " + path);
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  return socket;
}

bool LineSocket::Send(std::string_view line) {
  if (fd_ < 0 || outbox_.size() + line.size() > kMostUnsentBytes) return false;
  outbox_.append(line);
  Flush();
  return true;
}

bool LineSocket::Flush() {
  while (!outbox_.empty()) {
    ssize_t n = send(fd_, outbox_.data(), outbox_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      outbox_.erase(0, static_cast<size_t>(n));
    } else if (errno == EINTR) {
      continue;
    } else {
      return errno == EAGAIN || errno == EWOULDBLOCK;
    }
  }
  return true;
}

bool LineSocket::Receive() {
  char buffer[8192];
  for (;;) {
    ssize_t n = recv(fd_, buffer, sizeof buffer, MSG_DONTWAIT);
    if (n > 0) {
      inbox_.append(buffer, static_cast<size_t>(n));
      if (inbox_.size() > kMostLineBytes && inbox_.find('\n') == std::string::npos) return false;
      if (n < static_cast<ssize_t>(sizeof buffer)) return true;
    } else if (n == 0) {
      return false;
    } else if (errno != EINTR) {
      return errno == EAGAIN || errno == EWOULDBLOCK;
    }
  }
}

bool LineSocket::NextLine(std::string* line) {
  size_t end = inbox_.find('\n');
  if (end == std::string::npos) return false;
  line->assign(inbox_, 0, end);
  inbox_.erase(0, end + 1);
  return true;
}

}  // namespace gt::trainer
