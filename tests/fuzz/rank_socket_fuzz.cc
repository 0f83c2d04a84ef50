// Any bytes on GT_SOCKET, through a real connection: nothing is heard before a hello with the key, every line that is heard
// was said and is within its limit, and the launcher lets go of the connection at its end.
#include <sys/socket.h>

#include "common/base/assert.h"
#include "common/os/unix_socket.h"
#include "tests/fuzz/fuzz.h"
#include "worker/launcher/rank_socket.h"

namespace gt::launcher {
namespace {

constexpr int kRanks = 4;
constexpr int kMaxTurns = 10'000;
constexpr char kKey[] = "key";

// Ranks 0 to 3; a "finished" ends the attempt, which closes its connections.
class Attempt : public RankListener {
 public:
  Attempt(RankSocket* socket, std::string_view said) : socket_(socket), said_(said) { socket_->Register(kKey, this); }
  ~Attempt() {
    socket_->Unregister(kKey);
    GT_ASSERT(ended_ || !connected_);
  }
  int OnHello(const RankHello& hello) override {
    GT_ASSERT(!connected_ && hello.rank >= -1 - INT64_MAX);
    return hello.rank < 0 ? 0 : hello.rank < kRanks ? static_cast<int>(hello.rank) : -1;
  }
  void OnConnected(uint32_t local_rank, uint64_t connection, const RankHello& hello) override {
    GT_ASSERT(local_rank < kRanks && (hello.rank < 0 || local_rank == hello.rank));
    GT_ASSERT(hello.store_addr.size() <= said_.size());
    connected_ = true;
    connection_ = connection;
    socket_->Send(connection, "{\"type\":\"rendezvous\"}");
  }
  void OnLine(uint32_t local_rank, const RankLine& line) override {
    GT_ASSERT(connected_ && !ended_ && local_rank < kRanks);
    GT_ASSERT(line.line.size() <= 256 << 10 && line.line.find('\n') == std::string::npos);
    size_t found = said_.find(line.line);
    GT_ASSERT(found != std::string_view::npos);
    said_.remove_prefix(found + line.line.size());
    GT_ASSERT(line.type.size() <= line.line.size() && line.message.size() <= line.line.size());
    GT_ASSERT(line.message.empty() || line.type == "failure");
    if (line.type == "diagnosis") socket_->Send(connection_, "{\"type\":\"diagnose\"}");
    if (line.type != "finished") return;
    ended_ = true;
    socket_->Unregister(kKey);
  }
  void OnDisconnected(uint32_t local_rank, uint64_t connection) override {
    GT_ASSERT(connected_ && connection == connection_ && local_rank < kRanks);
    connected_ = false;
  }

 private:
  RankSocket* socket_;
  std::string_view said_;  // from what was heard last on
  uint64_t connection_ = 0;
  bool connected_ = false, ended_ = false;
};

// One loop and one socket for all inputs.
struct Launcher {
  Launcher() : socket(&poller) {
    GT_ASSERT(poller.Open().ok());
    poller.AfterTurn([this] { poller.Stop(); });
    GT_ASSERT(socket.Open(path).ok());
  }
  void Turn() {
    poller.Post([] {});  // it never waits
    poller.Run();
  }
  const std::string path = fuzz::Scratch() + "/ranks.sock";
  Poller poller;
  RankSocket socket;
};

// Says it all, then reads until the launcher has closed.
void Talk(Launcher* launcher, std::string_view said, size_t piece) {
  Result<Fd> fd = ConnectUnix(launcher->path);
  GT_ASSERT(fd.ok());
  bool open = true, saying = true;
  for (int turns = 0; open; ++turns) {
    GT_ASSERT(turns < kMaxTurns);
    if (saying && said.empty()) {
      shutdown(fd->get(), SHUT_WR);
      saying = false;
    }
    ssize_t put = saying ? send(fd->get(), said.data(), std::min(piece, said.size()), MSG_NOSIGNAL | MSG_DONTWAIT) : 0;
    if (put > 0) said.remove_prefix(static_cast<size_t>(put));
    if (put < 0 && errno != EAGAIN) saying = false;
    launcher->Turn();
    char answer[4096];
    ssize_t got = recv(fd->get(), answer, sizeof answer, MSG_DONTWAIT);
    open = got > 0 || (got < 0 && errno == EAGAIN);
  }
}

}  // namespace
}  // namespace gt::launcher

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gt::launcher;
  static Launcher launcher;
  std::string_view said(reinterpret_cast<const char*>(data), size);
  Attempt attempt(&launcher.socket, said);
  Talk(&launcher, said, /*piece=*/size_t{8} << (size % 16));
  launcher.Turn();
  return 0;
}
