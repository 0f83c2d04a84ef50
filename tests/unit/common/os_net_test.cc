#include "common/os/net.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "common/os/unix_socket.h"

namespace gt {
namespace {

// Binds like a server does that wants its address back at once.
bool CanBind(uint16_t port) {
  Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_port = htons(port);
  return bind(fd.get(), reinterpret_cast<sockaddr*>(&any), sizeof any) == 0 && listen(fd.get(), 1) == 0;
}

TEST(Net, AHeldPortIsOutsideTheEphemeralRangeAndNobodyElseCanBindIt) {
  auto held = HoldPort();
  ASSERT_TRUE(held.ok()) << held.status().message();
  auto [low, high] = EphemeralPortRange();
  EXPECT_TRUE(held->port < low || held->port > high);
  EXPECT_FALSE(CanBind(held->port));
  OfferPort(*held);
  EXPECT_TRUE(CanBind(held->port));
  held->socket.Reset();
  EXPECT_TRUE(CanBind(held->port));
}

TEST(Net, OnlyNumericAddressesAreNumeric) {
  for (const char* good : {"127.0.0.1", "10.1.2.3", "::1", "fe80::1"}) EXPECT_TRUE(IsNumericAddress(good)) << good;
  for (const char* bad : {"", "localhost", "10.1.2.300", "example.org"}) EXPECT_FALSE(IsNumericAddress(bad)) << bad;
  EXPECT_TRUE(IsLoopback("127.9.9.9"));
  EXPECT_TRUE(IsLoopback("::1"));
  EXPECT_FALSE(IsLoopback("10.0.0.1"));
}

TEST(Net, LoopbackBelongsToLo) {
  EXPECT_EQ(InterfaceOwning("127.0.0.1").value(), "lo");
  EXPECT_EQ(InterfaceOwning("127.0.0.5").value(), "lo");
  EXPECT_EQ(InterfaceOwning("203.0.113.9").status().code(), Code::kNotFound);
  EXPECT_EQ(LocalAddressTowards("127.0.0.1").value(), "127.0.0.1");
}

TEST(Net, HostPortRoundTripsAndRefusesNonsense) {
  EXPECT_EQ(ParseHostPort("node7:7070")->host, "node7");
  EXPECT_EQ(ParseHostPort("[::1]:80")->host, "::1");
  EXPECT_EQ(ParseHostPort("[::1]:80")->port, 80);
  EXPECT_EQ(FormatHostPort("::1", 80), "[::1]:80");
  for (const char* bad : {"", ":1", "host", "host:", "host:x", "host:70000", "::1:80", "[::1:80"})
    EXPECT_FALSE(ParseHostPort(bad).ok()) << bad;
}

TEST(Net, ListenTcpTellsWhichPortItGot) {
  auto fd = ListenTcp("127.0.0.1", 0);
  ASSERT_TRUE(fd.ok());
  EXPECT_GT(LocalPort(fd->get()).value(), 0);
  EXPECT_FALSE(ListenTcp("localhost", 0).ok());
}

TEST(UnixSocket, WorksAlsoUnderAPathThatIsTooLongForTheKernel) {
  std::string dir = "/tmp/gt_unix_XXXXXX";
  ASSERT_NE(mkdtemp(dir.data()), nullptr);
  std::string deep = dir + "/" + std::string(200, 'd');
  ASSERT_EQ(system(("mkdir " + deep).c_str()), 0);
  for (const std::string& path : {dir + "/s", deep + "/s"}) {
    auto server = ListenUnix(path);
    ASSERT_TRUE(server.ok()) << server.status().message();
    auto client = ConnectUnix(path);
    ASSERT_TRUE(client.ok()) << client.status().message();
    Fd accepted(accept4(server->get(), nullptr, nullptr, SOCK_CLOEXEC));
    EXPECT_EQ(PeerOf(accepted.get())->uid, getuid());
    EXPECT_EQ(PeerOf(accepted.get())->pid, getpid());
  }
  EXPECT_EQ(ConnectUnix(dir + "/none").status().code(), Code::kNotFound);
  ASSERT_EQ(system(("rm -rf " + dir).c_str()), 0);
}

}  // namespace
}  // namespace gt
