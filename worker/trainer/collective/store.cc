#include "worker/trainer/collective/store.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>

namespace gt::trainer {
namespace {

constexpr std::chrono::seconds kStoreTimeout{60};
constexpr int kProbeMs = 5, kConnectMs = 200;

struct FreeAddresses {
  void operator()(addrinfo* info) const { freeaddrinfo(info); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Addresses Resolve(const std::string& host, int port, int type, int flags) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = type;
  hints.ai_flags = flags | AI_NUMERICSERV;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return nullptr;
  return Addresses(found);
}

bool AnswersNow(const std::string& host, int port) {
  Addresses addresses = Resolve(host, port, SOCK_STREAM, 0);
  for (addrinfo* a = addresses.get(); a; a = a->ai_next) {
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) continue;
    int error = connect(fd, a->ai_addr, a->ai_addrlen) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
      pollfd poll_fd{fd, POLLOUT, 0};
      socklen_t length = sizeof error;
      if (poll(&poll_fd, 1, kConnectMs) > 0) getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
    }
    close(fd);
    if (error == 0) return true;
  }
  return false;
}

// c10d retries a refused connection once a second; looking first costs a new generation 5 ms instead.
Status WaitForHost(const std::string& host, int port, const std::function<bool()>& give_up) {
  auto deadline = std::chrono::steady_clock::now() + kStoreTimeout;
  while (!AnswersNow(host, port)) {
    if (give_up()) return Status(Code::kUnavailable, "a newer generation came while this one formed");
    if (std::chrono::steady_clock::now() > deadline)
      return Status(Code::kUnavailable, "no store answers at " + host + ":" + std::to_string(port));
    poll(nullptr, 0, kProbeMs);
  }
  return OkStatus();
}

}  // namespace

Result<OwnStore> ServeOwnStore(const std::string& address) {
  Addresses addresses = Resolve(address, 0, SOCK_STREAM, AI_NUMERICHOST | AI_PASSIVE);
  if (!addresses) return Status(Code::kInvalidArgument, "GT_NODE_ADDRESS='" + address + "' is not a numeric address");
  int fd = socket(addresses->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return ErrnoStatus(errno, "socket");
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  if (bind(fd, addresses->ai_addr, addresses->ai_addrlen) != 0 || listen(fd, 256) != 0 ||
      getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &length) != 0) {
    Status status = ErrnoStatus(errno, "cannot listen on " + address + " (GT_NODE_ADDRESS)");
    close(fd);
    return status;
  }
  OwnStore own;
  own.address = address;
  own.port = ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(bound).sin6_port
                                               : reinterpret_cast<sockaddr_in&>(bound).sin_port);
  try {
    c10d::TCPStoreOptions options;
    options.port = static_cast<uint16_t>(own.port);
    options.isServer = true;
    options.waitWorkers = false;
    options.masterListenFd = fd;  // the store owns it from here on
    own.store = c10::make_intrusive<c10d::TCPStore>(address, options);
  } catch (const std::exception& e) {
    return Status(Code::kInternal, std::string("cannot serve a store: ") + e.what());
  }
  return own;
}

Result<c10::intrusive_ptr<c10d::Store>> ConnectStore(const Rendezvous& rendezvous, const Environment& env,
                                                     const std::function<bool()>& give_up) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(rendezvous.store_port);
  options.waitWorkers = false;
  options.timeout = kStoreTimeout;
  // Under torchrun's rules rank 0 serves MASTER_PORT, unless the agent does.
  options.isServer = env.socket.empty() && !env.agent_store && rendezvous.rank == 0;
  if (!options.isServer) GT_RETURN_IF_ERROR(WaitForHost(rendezvous.store_addr, rendezvous.store_port, give_up));
  c10::intrusive_ptr<c10d::Store> store = c10::make_intrusive<c10d::TCPStore>(rendezvous.store_addr, options);
  std::string prefix =
      "gridtrain/" + std::to_string(env.restart_count) + "/gen" + std::to_string(rendezvous.generation.value);
  store = c10::make_intrusive<c10d::PrefixStore>(prefix, store);
  return store;
}

std::string LocalAddressTowards(const std::string& host) {
  Addresses addresses = Resolve(host, 9, SOCK_DGRAM, 0);
  for (addrinfo* a = addresses.get(); a; a = a->ai_next) {
    int fd = socket(a->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) continue;
    sockaddr_storage local{};
    socklen_t length = sizeof local;
    char text[NI_MAXHOST];
    bool known =
        connect(fd, a->ai_addr, a->ai_addrlen) == 0 &&  // sends nothing: asks the routing table
        getsockname(fd, reinterpret_cast<sockaddr*>(&local), &length) == 0 &&
        getnameinfo(reinterpret_cast<sockaddr*>(&local), length, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0;
    close(fd);
    if (known) return text;
  }
  return "127.0.0.1";
}

}  // namespace gt::trainer
