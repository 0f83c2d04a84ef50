// Any bytes as what a launcher says to a rank of ours, through a socket: each line comes out as it went in, and each
// message that is understood is one that can be obeyed.
#include <fcntl.h>
#include <sys/socket.h>

#include "common/base/assert.h"
#include "tests/fuzz/fuzz.h"
#include "worker/trainer/contract/line_socket.h"
#include "worker/trainer/contract/messages.h"

namespace gt::trainer {
namespace {

constexpr size_t kMostLineBytes = 64 << 10;

void CheckMessage(std::string_view line) {
  std::optional<LauncherMessage> message = ParseLauncherMessage(fuzz::Exact(line).view());
  if (!message || message->kind != LauncherMessage::Kind::kRendezvous) return;
  const Rendezvous& rendezvous = message->rendezvous;
  GT_ASSERT(rendezvous.generation.value >= 1 && rendezvous.rank >= 0 && rendezvous.rank < rendezvous.world_size);
  GT_ASSERT(rendezvous.store_port >= 0 && rendezvous.store_port <= 65535);
  GT_ASSERT(rendezvous.world_size == 1 || rendezvous.store_port > 0);
}

// Says `rest` in pieces; true when the socket took all of it.
bool Hear(std::string_view rest, std::string* heard) {
  int ends[2];
  GT_ASSERT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
  LineSocket ours(ends[0]), theirs(ends[1]);
  bool open = true;
  while (!rest.empty() && open) {
    std::string_view piece = rest.substr(0, 5000);
    GT_ASSERT(theirs.Send(piece));
    rest.remove_prefix(piece.size());
    open = ours.Receive();
    for (std::string line; ours.NextLine(&line);) {
      CheckMessage(line);
      *heard += line + "\n";
    }
  }
  return open;
}

}  // namespace
}  // namespace gt::trainer

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view said(reinterpret_cast<const char*>(data), size);
  std::string heard;
  bool all = gt::trainer::Hear(said, &heard);
  GT_ASSERT(said.starts_with(heard));
  size_t unfinished = said.size() - (said.rfind('\n') + 1);  // npos + 1 is 0
  if (all) GT_ASSERT(heard.size() == said.size() - unfinished && unfinished <= gt::trainer::kMostLineBytes + 5000);
  return 0;
}
