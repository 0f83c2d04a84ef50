#include "common/os/random.h"

#include <errno.h>
#include <sys/random.h>

namespace gt {

Status FillRandom(void* buffer, size_t size) {
  auto* at = static_cast<char*>(buffer);
  while (size > 0) {
    ssize_t got = getrandom(at, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, "getrandom");
    at += got;
    size -= static_cast<size_t>(got);
  }
  return OkStatus();
}

Result<Uid> RandomUid() {
  Uid uid;
  do {
    GT_RETURN_IF_ERROR(FillRandom(&uid, sizeof uid));
  } while (uid.empty());
  return uid;
}

Result<std::string> RandomKey() {
  GT_ASSIGN_OR_RETURN(Uid uid, RandomUid());
  return ToHex(uid);
}

}  // namespace gt
