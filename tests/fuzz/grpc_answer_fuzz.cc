// Any bytes as what answers gtctl's call: the call ends, with no more than was said and a text that a terminal may show.
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "cli/grpc_call.h"
#include "common/base/assert.h"
#include "common/os/clock.h"
#include "common/os/net.h"
#include "common/text/text.h"
#include "tests/fuzz/fuzz.h"

namespace gt {
namespace {

constexpr Millis kPatience = 10 * kSecond;

struct Listener {
  Fd socket = ListenTcp("127.0.0.1", 0).value();
  Fd interrupt{eventfd(0, EFD_CLOEXEC)};
  std::string address = FormatHostPort("127.0.0.1", LocalPort(socket.get()).value());
};

// Says it all and hangs up; what the client said is not looked at.
Fd Answer(const Listener& listener, std::string_view answer) {
  Fd peer(accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
  GT_ASSERT(peer.valid());
  if (!answer.empty()) (void)!send(peer.get(), answer.data(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  shutdown(peer.get(), SHUT_WR);
  return peer;
}

bool IsSafe(std::string_view lines) {
  while (true) {
    std::string_view line = lines.substr(0, lines.find('\n'));
    if (!IsPrintable(line)) return false;
    if (line.size() == lines.size()) return true;
    lines.remove_prefix(line.size() + 1);
  }
}

}  // namespace
}  // namespace gt

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gt;
  static const Listener listener;
  Millis until = ReadClock().mono + kPatience;
  auto connection = GrpcConnection::Open(listener.address, until, listener.interrupt.get());
  GT_ASSERT(connection.ok());
  GT_ASSERT((*connection)->Start({"/a.B/C", {{"authorization", "Bearer x"}}, "hello", until}).ok());
  Fd peer = Answer(listener, {reinterpret_cast<const char*>(data), size});
  size_t heard = 0;
  while (true) {
    Result<std::optional<std::string>> message = (*connection)->Next();
    if (!message.ok()) GT_ASSERT(message.status().code() != Code::kOk && IsSafe(message.status().message()));
    if (!message.ok() || !message->has_value()) break;
    heard += (*message)->size() + 5;
    GT_ASSERT(heard <= size);
  }
  GT_ASSERT(ReadClock().mono < until);
  // Else the address would be full of connections that wait for their end.
  linger at_once{1, 0};
  setsockopt(peer.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  return 0;
}
