#include "cli/grpc_call.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <cstring>

#include "common/os/clock.h"
#include "common/os/net.h"
#include "common/text/text.h"

namespace gt {
namespace {

constexpr size_t kPrefixBytes = 5;                // compressed or not, then the length
constexpr size_t kMaxMessageBytes = 64u << 20;
constexpr int32_t kWindowBytes = 4 << 20;
constexpr size_t kReadBytes = 256u << 10;
constexpr size_t kMaxUnsentBytes = 1u << 20;
// A follower notices a coordinator that vanished without a word.
constexpr Millis kPingAfter = 30 * kSecond, kPingTimeout = 10 * kSecond;
constexpr int kUnimplemented = 12;

// https://grpc.github.io/grpc/core/md_doc_statuscodes.html, by number
constexpr std::array<Code, 17> kCodes = {
    Code::kOk,              Code::kUnavailable /* CANCELLED */, Code::kInternal /* UNKNOWN */, Code::kInvalidArgument,
    Code::kDeadlineExceeded, Code::kNotFound,                   Code::kAlreadyExists,          Code::kPermissionDenied,
    Code::kResourceExhausted, Code::kFailedPrecondition,        Code::kFailedPrecondition /* ABORTED */,
    Code::kInvalidArgument /* OUT_OF_RANGE */, Code::kFailedPrecondition /* UNIMPLEMENTED */, Code::kInternal,
    Code::kUnavailable,     Code::kDataLoss,                    Code::kUnauthenticated};

Status Unavailable(std::string why) { return Status(Code::kUnavailable, std::move(why)); }
Status TooLate() { return Status(Code::kDeadlineExceeded, "no answer in time"); }

// grpc-message is percent-encoded.
std::string Decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    bool escaped = text[i] == '%' && i + 2 < text.size() &&
                   std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16).ptr == text.data() + i + 3;
    out += escaped ? static_cast<char>(byte) : text[i];
    if (escaped) i += 2;
  }
  return out;
}

// What the coordinator says is text from elsewhere; its lines stay lines.
std::string SafeLines(const std::string& text) {
  std::string out;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    out += (begin == 0 ? "" : "\n") + Printable(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

Status ToStatus(int status, const std::string& encoded) {
  if (status == 0) return OkStatus();
  std::string message = SafeLines(Decoded(encoded));
  if (status == kUnimplemented)
    message = "the coordinator does not know this request; it is older than this gtctl (" + message + ")";
  bool known = status > 0 && static_cast<size_t>(status) < kCodes.size();
  return Status(known ? kCodes[static_cast<size_t>(status)] : Code::kInternal,
                message.empty() ? "the coordinator gave no reason" : message);
}

// At most eight digits and a unit.
std::string TimeoutText(Millis left) {
  left = std::max<Millis>(left, 1);
  return left < 100'000'000 ? std::to_string(left) + "m" : std::to_string(std::min<Millis>(left / 1000, 99'999'999)) + "S";
}

std::string Framed(const std::string& message) {
  std::string framed(kPrefixBytes, '\0');
  for (size_t i = 0; i < 4; ++i) framed[i + 1] = static_cast<char>(message.size() >> (24 - 8 * i));
  return framed + message;
}

int PollTimeout(Millis until, Millis now) {
  return until == kNever ? -1 : static_cast<int>(std::clamp<Millis>(until - now, 0, INT_MAX));
}

// true: ready for `events`; false: `until` has come.
Result<bool> WaitFor(int fd, short events, Millis until, int interrupt) {
  while (true) {
    std::array<pollfd, 2> fds = {{{fd, events, 0}, {interrupt, POLLIN, 0}}};
    Millis now = ReadClock().mono;
    int ready = ::poll(fds.data(), fds.size(), PollTimeout(until, now));
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return ErrnoStatus(errno, "poll");
    if (fds[1].revents != 0) return Unavailable("interrupted");
    if (fds[0].revents != 0) return true;
    if (ReadClock().mono >= until) return false;
  }
}

Result<Fd> ConnectTo(const addrinfo& address, Millis until, int interrupt) {
  Fd fd(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return ErrnoStatus(errno, "socket");
  int on = 1, error = 0;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (::connect(fd.get(), address.ai_addr, address.ai_addrlen) == 0) return fd;
  if (errno != EINPROGRESS) return Unavailable(std::strerror(errno));
  GT_ASSIGN_OR_RETURN(bool ready, WaitFor(fd.get(), POLLOUT, until, interrupt));
  if (!ready) return Unavailable("no connection in time");
  socklen_t size = sizeof error;
  ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return Unavailable(std::strerror(error));
  return fd;
}

Result<Fd> Connect(const std::string& address, Millis until, int interrupt) {
  GT_ASSIGN_OR_RETURN(HostPort where, ParseHostPort(address));
  if (where.host == "localhost") where.host = "127.0.0.1";
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (IsNumericAddress(where.host) ? AI_NUMERICHOST : AI_ADDRCONFIG);
  int error = ::getaddrinfo(where.host.c_str(), std::to_string(where.port).c_str(), &hints, &found);
  if (error != 0) return Unavailable("its name cannot be resolved: " + std::string(::gai_strerror(error)));
  std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  Status last;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    Result<Fd> fd = ConnectTo(*one, until, interrupt);
    if (fd.ok()) return fd;
    last = fd.status();
  }
  return last;
}

nghttp2_nv Header(const std::string& name, const std::string& value, uint8_t flags = NGHTTP2_NV_FLAG_NONE) {
  auto bytes = [](const std::string& text) { return reinterpret_cast<uint8_t*>(const_cast<char*>(text.data())); };
  return {bytes(name), bytes(value), name.size(), value.size(), flags};
}

}  // namespace

// nghttp2 calls these from within its mem_send and mem_recv.
struct GrpcCallbacks {
  static GrpcConnection::Call* CallOf(void* user, int32_t stream) {
    GrpcConnection::Call& call = static_cast<GrpcConnection*>(user)->call_;
    return call.stream == stream ? &call : nullptr;
  }

  static int OnHeader(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
                      const uint8_t* value, size_t value_size, uint8_t, void* user) {
    GrpcConnection::Call* call = CallOf(user, frame->hd.stream_id);
    if (call == nullptr) return 0;
    std::string_view key(reinterpret_cast<const char*>(name), name_size);
    std::string text(reinterpret_cast<const char*>(value), value_size);
    if (key == ":status") call->http_status = text;
    if (key == "grpc-message") call->message = text;
    if (key == "grpc-status") {
      int number = -1;
      std::from_chars(text.data(), text.data() + text.size(), number);
      call->status = number;
    }
    return 0;
  }

  static int OnData(nghttp2_session*, uint8_t, int32_t stream, const uint8_t* data, size_t size, void* user) {
    GrpcConnection::Call* call = CallOf(user, stream);
    if (call != nullptr) call->inbox.append(reinterpret_cast<const char*>(data), size);
    return 0;
  }

  static int OnFrame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    auto* connection = static_cast<GrpcConnection*>(user);
    if (frame->hd.type == NGHTTP2_GOAWAY) connection->going_away_ = true;
    GrpcConnection::Call* call = CallOf(user, frame->hd.stream_id);
    if (call != nullptr && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) call->ended = true;
    return 0;
  }

  static int OnClose(nghttp2_session*, int32_t stream, uint32_t, void* user) {
    if (GrpcConnection::Call* call = CallOf(user, stream)) call->ended = call->closed = true;
    return 0;
  }

  static ssize_t ReadRequest(nghttp2_session*, int32_t stream, uint8_t* buffer, size_t size, uint32_t* flags,
                             nghttp2_data_source*, void* user) {
    GrpcConnection::Call* call = CallOf(user, stream);
    if (call == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    size_t part = std::min(size, call->request.size() - call->sent);
    std::memcpy(buffer, call->request.data() + call->sent, part);
    call->sent += part;
    if (call->sent == call->request.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(part);
  }

  static nghttp2_session* NewSession(GrpcConnection* connection) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session* session = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, OnHeader);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, OnData);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, OnFrame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, OnClose);
    nghttp2_session_client_new(&session, callbacks, connection);
    nghttp2_session_callbacks_del(callbacks);
    return session;
  }
};

Result<std::unique_ptr<GrpcConnection>> GrpcConnection::Open(const std::string& address, Millis until, int interrupt) {
  GT_ASSIGN_OR_RETURN(Fd fd, Connect(address, until, interrupt));
  return std::unique_ptr<GrpcConnection>(new GrpcConnection(std::move(fd), address, interrupt));
}

GrpcConnection::GrpcConnection(Fd fd, std::string authority, int interrupt)
    : fd_(std::move(fd)), authority_(std::move(authority)), interrupt_(interrupt), heard_(ReadClock().mono) {
  session_ = GrpcCallbacks::NewSession(this);
  const std::array<nghttp2_settings_entry, 2> settings = {
      {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0}, {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kWindowBytes}}};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kWindowBytes);
}

GrpcConnection::~GrpcConnection() { nghttp2_session_del(session_); }

Status GrpcConnection::Start(GrpcRequest request) {
  call_ = Call{};
  call_.request = Framed(request.message);
  call_.until = request.until;
  std::vector<std::pair<std::string, std::string>> fields = {
      {":method", "POST"}, {":scheme", "http"}, {":path", request.method}, {":authority", authority_},
      {"te", "trailers"}, {"content-type", "application/grpc"}, {"user-agent", "gtctl"}};
  if (request.until != kNever) fields.emplace_back("grpc-timeout", TimeoutText(request.until - ReadClock().mono));
  fields.insert(fields.end(), request.metadata.begin(), request.metadata.end());
  std::vector<nghttp2_nv> headers;
  for (const auto& [name, value] : fields) headers.push_back(Header(name, value, NGHTTP2_NV_FLAG_NO_INDEX));
  nghttp2_data_provider body = {};
  body.read_callback = GrpcCallbacks::ReadRequest;
  call_.stream = nghttp2_submit_request(session_, nullptr, headers.data(), headers.size(), &body, nullptr);
  if (call_.stream < 0) return Unavailable(nghttp2_strerror(call_.stream));
  return OkStatus();
}

Result<std::optional<std::string>> GrpcConnection::Next() {
  while (true) {
    GT_ASSIGN_OR_RETURN(std::optional<std::string> message, TakeMessage());
    if (message) return message;
    if (call_.ended) {
      GT_RETURN_IF_ERROR(End());
      return std::optional<std::string>();
    }
    GT_RETURN_IF_ERROR(Exchange());
  }
}

bool GrpcConnection::reusable() const {
  pollfd poll_fd = {fd_.get(), POLLIN | POLLRDHUP, 0};
  return call_.closed && !going_away_ && out_.empty() && ::poll(&poll_fd, 1, 0) >= 0 &&
         (poll_fd.revents & (POLLRDHUP | POLLHUP | POLLERR)) == 0;
}

// Says what there is to say, then waits for something to happen.
Status GrpcConnection::Exchange() {
  GT_RETURN_IF_ERROR(Flush());
  if (nghttp2_session_want_read(session_) == 0)
    return Unavailable(going_away_ ? "it is stopping" : "what listens there does not speak gRPC");
  Millis beat = asked_ != 0 ? asked_ + kPingTimeout : heard_ + kPingAfter;
  auto events = static_cast<short>(POLLIN | (out_.empty() ? 0 : POLLOUT));
  GT_ASSIGN_OR_RETURN(bool ready, WaitFor(fd_.get(), events, std::min(call_.until, beat), interrupt_));
  if (ready) return Receive();
  Millis now = ReadClock().mono;
  return now >= call_.until ? TooLate() : Beat(now);
}

// In one write, so that the first request arrives with the connection's own greeting.
Status GrpcConnection::Flush() {
  while (out_.size() < kMaxUnsentBytes) {
    const uint8_t* data = nullptr;
    ssize_t size = nghttp2_session_mem_send(session_, &data);
    if (size < 0) return Unavailable(nghttp2_strerror(static_cast<int>(size)));
    if (size == 0) break;
    out_.append(reinterpret_cast<const char*>(data), static_cast<size_t>(size));
  }
  if (out_.empty()) return OkStatus();
  ssize_t sent = ::send(fd_.get(), out_.data(), out_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0 && errno != EAGAIN && errno != EINTR) return Unavailable(std::strerror(errno));
  if (sent > 0) out_.erase(0, static_cast<size_t>(sent));
  return OkStatus();
}

Status GrpcConnection::Receive() {
  static thread_local std::array<uint8_t, kReadBytes> buffer;
  ssize_t got = ::recv(fd_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return OkStatus();
  if (got < 0) return Unavailable(std::strerror(errno));
  if (got == 0) return Unavailable("the connection was closed");
  heard_ = ReadClock().mono;
  asked_ = 0;
  ssize_t used = nghttp2_session_mem_recv(session_, buffer.data(), static_cast<size_t>(got));
  return used < 0 ? Unavailable(nghttp2_strerror(static_cast<int>(used))) : OkStatus();
}

Status GrpcConnection::Beat(Millis now) {
  if (asked_ != 0) return Unavailable("no sign of life for " + std::to_string((now - heard_) / kSecond) + " s");
  asked_ = now;
  nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr);
  return OkStatus();
}

Result<std::optional<std::string>> GrpcConnection::TakeMessage() {
  std::string_view rest = std::string_view(call_.inbox).substr(call_.taken);
  if (rest.size() < kPrefixBytes) return std::optional<std::string>();
  if (rest[0] != 0) return Status(Code::kInternal, "the answer is compressed, which was not asked for");
  size_t size = 0;
  for (size_t i = 1; i < kPrefixBytes; ++i) size = size << 8 | static_cast<unsigned char>(rest[i]);
  if (size > kMaxMessageBytes) return Status(Code::kResourceExhausted, "the answer is too large");
  if (rest.size() < kPrefixBytes + size) return std::optional<std::string>();
  std::string message(rest.substr(kPrefixBytes, size));
  call_.taken += kPrefixBytes + size;
  if (call_.taken == call_.inbox.size() || call_.taken > kReadBytes) {
    call_.inbox.erase(0, call_.taken);
    call_.taken = 0;
  }
  return std::optional<std::string>(std::move(message));
}

Status GrpcConnection::End() const {
  if (call_.status) return ToStatus(*call_.status, call_.message);
  if (!call_.http_status.empty() && call_.http_status != "200")
    return Unavailable("what listens there is not a coordinator (HTTP status " + Printable(call_.http_status) + ")");
  return Unavailable("the call was broken off");
}

}  // namespace gt
