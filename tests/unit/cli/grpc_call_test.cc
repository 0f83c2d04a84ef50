// What may listen where a coordinator is expected. (Good answers are the fake coordinator's, in the other tests.)
#include "cli/grpc_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <thread>

#include "common/os/clock.h"
#include "common/os/net.h"

namespace gt {
namespace {

using testing::HasSubstr;

// Accepts one connection, says `words` and then hangs up or stays silent until the test ends.
class Listener {
 public:
  explicit Listener(std::string words, bool hang_up) {
    socket_ = ListenTcp("127.0.0.1", 0).value();
    address = FormatHostPort("127.0.0.1", LocalPort(socket_.get()).value());
    thread_ = std::thread([this, words = std::move(words), hang_up] {
      pollfd ready = {socket_.get(), POLLIN, 0};
      ::poll(&ready, 1, 10'000);
      peer_ = Fd(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!words.empty()) (void)::send(peer_.get(), words.data(), words.size(), MSG_NOSIGNAL);
      if (hang_up) peer_.Reset();
    });
  }
  ~Listener() { thread_.join(); }
  std::string address;

 private:
  Fd socket_, peer_;
  std::thread thread_;
};

class GrpcCall : public testing::Test {
 protected:
  Status Call(const std::string& address, Millis within) {
    Millis until = ReadClock().mono + within;
    GT_ASSIGN_OR_RETURN(auto connection, GrpcConnection::Open(address, until, interrupt_.get()));
    GT_RETURN_IF_ERROR(connection->Start({"/a.B/C", {{"authorization", "Bearer x"}}, "hello", until}));
    return connection->Next().status();
  }
  Fd interrupt_{::eventfd(0, EFD_CLOEXEC)};
};

TEST_F(GrpcCall, WhoeverSpeaksAnotherProtocolIsNamedSo) {
  Listener web("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", false);
  Status status = Call(web.address, 5 * kSecond);
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("does not speak gRPC"));
}

TEST_F(GrpcCall, APeerThatHangsUpIsUnavailable) {
  Listener gone("", true);
  EXPECT_EQ(Call(gone.address, 5 * kSecond).code(), Code::kUnavailable);
}

TEST_F(GrpcCall, APeerThatStaysSilentCostsTheDeadlineAndNoMore) {
  Listener silent("", false);
  EXPECT_EQ(Call(silent.address, 50).code(), Code::kDeadlineExceeded);
}

TEST_F(GrpcCall, NobodyListensAndNoSuchNameSayTheCause) {
  std::string unused;
  {
    Fd held = ListenTcp("127.0.0.1", 0).value();
    unused = FormatHostPort("127.0.0.1", LocalPort(held.get()).value());
  }
  EXPECT_THAT(Call(unused, kSecond).message(), HasSubstr("Connection refused"));
  EXPECT_THAT(Call("no-such-host.invalid:1", kSecond).message(), HasSubstr("cannot be resolved"));
}

TEST_F(GrpcCall, AnInterruptEndsTheWait) {
  Listener silent("", false);
  std::thread other([&] {
    uint64_t one = 1;
    ASSERT_EQ(::write(interrupt_.get(), &one, sizeof one), static_cast<ssize_t>(sizeof one));
  });
  EXPECT_EQ(Call(silent.address, kNever / 2).code(), Code::kUnavailable);
  other.join();
}

}  // namespace
}  // namespace gt
