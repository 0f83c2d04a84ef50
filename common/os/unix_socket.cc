#include "common/os/unix_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "common/os/file.h"

namespace gt {

namespace {
struct UnixAddress {
  sockaddr_un address{};
  Fd directory;  // kept open while the address is in use
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

Result<UnixAddress> MakeAddress(const std::string& path) {
  UnixAddress result;
  result.address.sun_family = AF_UNIX;
  std::string shown = path;
  if (shown.size() >= sizeof result.address.sun_path) {
    GT_ASSIGN_OR_RETURN(result.directory, OpenFile(DirectoryOf(path), O_PATH | O_DIRECTORY));
    shown = "/proc/self/fd/" + std::to_string(result.directory.get()) + path.substr(path.rfind('/'));
  }
  if (path.empty() || shown.size() >= sizeof result.address.sun_path) {
    return Status(Code::kInvalidArgument, "'" + path + "' cannot name a socket");
  }
  std::memcpy(result.address.sun_path, shown.c_str(), shown.size() + 1);
  return result;
}
}  // namespace

Result<Fd> ListenUnix(const std::string& path, mode_t mode, int backlog) {
  GT_ASSIGN_OR_RETURN(UnixAddress at, MakeAddress(path));
  Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return ErrnoStatus(errno, "socket");
  GT_RETURN_IF_ERROR(RemoveFile(path));
  if (bind(fd.get(), at.get(), sizeof at.address) != 0) return ErrnoStatus(errno, "bind " + path);
  if (chmod(path.c_str(), mode) != 0) return ErrnoStatus(errno, path);
  if (listen(fd.get(), backlog) != 0) return ErrnoStatus(errno, "listen " + path);
  return fd;
}

Result<Fd> ConnectUnix(const std::string& path) {
  GT_ASSIGN_OR_RETURN(UnixAddress at, MakeAddress(path));
  Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return ErrnoStatus(errno, "socket");
  while (connect(fd.get(), at.get(), sizeof at.address) != 0) {
    if (errno != EINTR) return ErrnoStatus(errno, "connect " + path);
  }
  return fd;
}

Result<PeerCredentials> PeerOf(int socket) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return ErrnoStatus(errno, "SO_PEERCRED");
  return PeerCredentials{credentials.pid, credentials.uid};
}

Status SetNonBlocking(int fd, bool on) {
  int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK) != 0) {
    return ErrnoStatus(errno, "fcntl");
  }
  return OkStatus();
}

}  // namespace gt
