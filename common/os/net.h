// Numeric addresses, TCP ports, network interfaces. No name is ever resolved here. Any thread.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/os/fd.h"

namespace gt {

bool IsNumericAddress(const std::string& address);  // "10.0.0.7", "fe80::1%eth0", "::1"
bool IsLoopback(const std::string& address);        // 127.0.0.0/8 and ::1

// "host:port" with a numeric or named host; IPv6 in brackets. The host comes back without brackets.
struct HostPort {
  std::string host;
  uint16_t port = 0;
};
Result<HostPort> ParseHostPort(const std::string& text);
std::string FormatHostPort(const std::string& host, uint16_t port);

struct InterfaceAddress {
  std::string interface;  // "eth0"
  std::string address;    // numeric
};
Result<std::vector<InterfaceAddress>> ListInterfaceAddresses();
// The interface that owns a numeric address ("lo" for all of 127.0.0.0/8). kNotFound when none does.
Result<std::string> InterfaceOwning(const std::string& address);
// Our numeric address that packets to `peer` (numeric) would carry. Sends nothing.
Result<std::string> LocalAddressTowards(const std::string& peer);

// The kernel's range for outgoing connections, both ends inclusive: [32768, 60999] when it cannot be read.
std::pair<uint16_t, uint16_t> EphemeralPortRange();

// A TCP port on every address of this machine that nobody else can bind while `socket` lives. It does not listen, so that
// the owner to be can bind it the moment it is let go, and it lies outside the ephemeral range, so that no outgoing
// connection takes it in between. kResourceExhausted after 256 random tries.
struct HeldPort {
  Fd socket;
  uint16_t port = 0;
};
Result<HeldPort> HoldPort();
// From now on who sets SO_REUSEADDR, as servers do, can bind it although it is still held: the owner to be need not wait until
// the holder has run again. Others that hold ports still see it taken.
void OfferPort(const HeldPort& held);

// A listening, close-on-exec, non-blocking TCP socket on a numeric address; port 0 lets the kernel choose.
Result<Fd> ListenTcp(const std::string& address, uint16_t port, int backlog = 128);
Result<uint16_t> LocalPort(int socket);

}  // namespace gt
