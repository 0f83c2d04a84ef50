#include "common/os/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <charconv>
#include <cstdio>
#include <cstring>

#include "common/os/file.h"
#include "common/os/random.h"

namespace gt {

namespace {
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

Result<SocketAddress> Parse(const std::string& address, uint16_t port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  if (address.empty() || getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
    return Status(Code::kInvalidArgument, "'" + address + "' is not a numeric address");
  }
  SocketAddress result;
  std::memcpy(&result.storage, found->ai_addr, found->ai_addrlen);
  result.size = found->ai_addrlen;
  freeaddrinfo(found);
  return result;
}

std::string Numeric(const sockaddr* address, socklen_t size) {
  char text[NI_MAXHOST];
  if (getnameinfo(address, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) return "";
  return text;
}

// Binds every address of the machine: IPv6 with IPv4 in it, or IPv4 alone where there is no IPv6.
Result<Fd> BindEverywhere(uint16_t port) {
  Fd fd(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (fd.valid()) {
    int off = 0;
    setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_port = htons(port);
    if (bind(fd.get(), reinterpret_cast<sockaddr*>(&any), sizeof any) == 0) return fd;
    if (errno != EAFNOSUPPORT && errno != EADDRNOTAVAIL) return ErrnoStatus(errno, "bind");
  }
  fd.Reset(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return ErrnoStatus(errno, "socket");
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_port = htons(port);
  if (bind(fd.get(), reinterpret_cast<sockaddr*>(&any), sizeof any) != 0) return ErrnoStatus(errno, "bind");
  return fd;
}

constexpr uint32_t kLowestHeldPort = 20000, kHighestPort = 65535;
}  // namespace

bool IsNumericAddress(const std::string& address) { return Parse(address, 0).ok(); }

bool IsLoopback(const std::string& address) {
  auto parsed = Parse(address, 0);
  if (!parsed.ok()) return false;
  if (parsed->storage.ss_family == AF_INET) {
    return (ntohl(reinterpret_cast<const sockaddr_in*>(parsed->get())->sin_addr.s_addr) >> 24) == 127;
  }
  return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(parsed->get())->sin6_addr);
}

Result<HostPort> ParseHostPort(const std::string& text) {
  Status bad(Code::kInvalidArgument, "'" + text + "' is not HOST:PORT");
  size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return bad;
  HostPort result{text.substr(0, colon), 0};
  if (result.host.front() == '[') {
    if (result.host.back() != ']') return bad;
    result.host = result.host.substr(1, result.host.size() - 2);
  } else if (result.host.find(':') != std::string::npos) {
    return bad;
  }
  const char *first = text.data() + colon + 1, *last = text.data() + text.size();
  auto [end, error] = std::from_chars(first, last, result.port);
  if (error != std::errc() || end != last || result.host.empty()) return bad;
  return result;
}

std::string FormatHostPort(const std::string& host, uint16_t port) {
  bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<std::vector<InterfaceAddress>> ListInterfaceAddresses() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return ErrnoStatus(errno, "getifaddrs");
  std::vector<InterfaceAddress> result;
  for (ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr) continue;
    int family = at->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    std::string text = Numeric(at->ifa_addr, family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    if (!text.empty()) result.push_back({at->ifa_name, text});
  }
  freeifaddrs(list);
  return result;
}

Result<std::string> InterfaceOwning(const std::string& address) {
  GT_ASSIGN_OR_RETURN(SocketAddress wanted, Parse(address, 0));
  std::string text = Numeric(wanted.get(), wanted.size);
  GT_ASSIGN_OR_RETURN(auto all, ListInterfaceAddresses());
  for (const InterfaceAddress& one : all)
    if (one.address == text) return one.interface;
  if (IsLoopback(address)) return std::string("lo");
  return Status(Code::kNotFound, "no interface owns " + address);
}

Result<std::string> LocalAddressTowards(const std::string& peer) {
  GT_ASSIGN_OR_RETURN(SocketAddress target, Parse(peer, 9));
  Fd fd(socket(target.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return ErrnoStatus(errno, "socket");
  if (connect(fd.get(), target.get(), target.size) != 0) return ErrnoStatus(errno, "no route to " + peer);
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (getsockname(fd.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0) return ErrnoStatus(errno, "getsockname");
  return Numeric(reinterpret_cast<sockaddr*>(&own), size);
}

std::pair<uint16_t, uint16_t> EphemeralPortRange() {
  unsigned low = 0, high = 0;
  auto text = ReadFile("/proc/sys/net/ipv4/ip_local_port_range", 256);
  if (text.ok() && std::sscanf(text->c_str(), "%u %u", &low, &high) == 2 && low <= high && high <= kHighestPort) {
    return {static_cast<uint16_t>(low), static_cast<uint16_t>(high)};
  }
  return {32768, 60999};
}

Result<HeldPort> HoldPort() {
  static const std::pair<uint16_t, uint16_t> ephemeral = EphemeralPortRange();  // administrators set it at boot
  auto [low, high] = ephemeral;
  for (int tries = 0, draws = 0; tries < 256 && draws < 100'000; ++draws) {
    uint32_t random = 0;
    GT_RETURN_IF_ERROR(FillRandom(&random, sizeof random));
    auto port = static_cast<uint16_t>(kLowestHeldPort + random % (kHighestPort - kLowestHeldPort + 1));
    if (port >= low && port <= high) continue;
    ++tries;
    auto fd = BindEverywhere(port);
    if (fd.ok()) return HeldPort{std::move(fd).value(), port};
  }
  return Status(Code::kResourceExhausted, "no free TCP port outside the ephemeral range");
}

// Bound without it, so that binding was exclusive; Linux asks the sockets themselves when the next one comes.
void OfferPort(const HeldPort& held) {
  int on = 1;
  setsockopt(held.socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
}

Result<Fd> ListenTcp(const std::string& address, uint16_t port, int backlog) {
  GT_ASSIGN_OR_RETURN(SocketAddress at, Parse(address, port));
  Fd fd(socket(at.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return ErrnoStatus(errno, "socket");
  int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  std::string name = FormatHostPort(address, port);
  if (bind(fd.get(), at.get(), at.size) != 0) return ErrnoStatus(errno, "bind " + name);
  if (listen(fd.get(), backlog) != 0) return ErrnoStatus(errno, "listen " + name);
  return fd;
}

Result<uint16_t> LocalPort(int socket) {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size) != 0) return ErrnoStatus(errno, "getsockname");
  if (own.ss_family == AF_INET) return ntohs(reinterpret_cast<sockaddr_in*>(&own)->sin_port);
  if (own.ss_family == AF_INET6) return ntohs(reinterpret_cast<sockaddr_in6*>(&own)->sin6_port);
  return Status(Code::kInvalidArgument, "not an internet socket");
}

}  // namespace gt
