// gRPC calls over one HTTP/2 connection, one at a time, on the calling thread. A command of gtctl makes a call or two
// and ends: gRPC's own library would start half a dozen threads first, which takes longer than the call. HTTP/2 itself
// is nghttp2's.
// Protocol: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/time.h"
#include "common/os/fd.h"

struct nghttp2_session;

namespace gt {

struct GrpcRequest {
  std::string method;                                          // "/package.Service/Method"
  std::vector<std::pair<std::string, std::string>> metadata;   // lower-case names
  std::string message;                                         // serialized
  Millis until = kNever;                                       // ReadClock().mono: the call's deadline, told to the server too
};

// Errors: kUnavailable for whatever keeps the two from talking, kDeadlineExceeded, else what the server said.
class GrpcConnection {
 public:
  // `address`: "host:port". `interrupt` (a file descriptor of the caller's, which outlives this): once it is readable,
  // every wait ends with kUnavailable.
  static Result<std::unique_ptr<GrpcConnection>> Open(const std::string& address, Millis until, int interrupt);
  ~GrpcConnection();
  GrpcConnection(const GrpcConnection&) = delete;
  GrpcConnection& operator=(const GrpcConnection&) = delete;

  // Starts a call; the one before has ended.
  Status Start(GrpcRequest request);
  // Waits for the next message of the answer; nothing: the call ended well.
  Result<std::optional<std::string>> Next();
  // The last call has ended in order, and the other side still listens.
  bool reusable() const;

 private:
  friend struct GrpcCallbacks;
  struct Call {
    int32_t stream = -1;
    std::string request;        // framed
    size_t sent = 0;
    std::string inbox;          // framed messages, from `taken` on not yet handed over
    size_t taken = 0;
    std::string http_status;
    std::optional<int> status;
    std::string message;
    bool ended = false;         // the other side has said all
    bool closed = false;        // the stream is gone on both sides
    Millis until = kNever;
  };
  GrpcConnection(Fd fd, std::string authority, int interrupt);
  Status Exchange();
  Status Flush();
  Status Receive();
  Status Beat(Millis now);
  Result<std::optional<std::string>> TakeMessage();
  Status End() const;

  Fd fd_;
  std::string authority_;
  int interrupt_;
  nghttp2_session* session_ = nullptr;
  std::string out_;             // not yet taken by the socket
  Call call_;
  bool going_away_ = false;
  Millis heard_ = 0;
  Millis asked_ = 0;            // when an answer to a ping began to be waited for; 0: none is
};

}  // namespace gt
