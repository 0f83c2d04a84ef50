// Unix stream sockets by path. Paths that are too long for sockaddr_un (107 bytes) go through /proc/self/fd. Any thread.
#pragma once
#include <sys/types.h>

#include <string>

#include "common/base/status.h"
#include "common/os/fd.h"

namespace gt {

// Non-blocking, close-on-exec. Removes a stale socket file first: take a lock on the directory before. `mode` is the
// socket file's. (With a long path the *clients* need the same help: ConnectUnix.)
Result<Fd> ListenUnix(const std::string& path, mode_t mode = 0600, int backlog = 128);
// Close-on-exec and blocking; the caller may make it non-blocking.
Result<Fd> ConnectUnix(const std::string& path);
// Who is at the other end, as the kernel recorded it at connect.
struct PeerCredentials {
  pid_t pid = 0;
  uid_t uid = 0;
};
Result<PeerCredentials> PeerOf(int socket);
Status SetNonBlocking(int fd, bool on = true);

}  // namespace gt
