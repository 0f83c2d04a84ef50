// GT_SOCKET: where ranks talk to the launcher (the rank contract, launcher side). One unix stream socket for all attempts,
// open to every user of the node and authenticated by the random GT_KEY of the attempt.
//
// Newline-delimited JSON objects with a "type"; unknown types and fields are ignored. The first line of a connection must be
//   {"type":"hello","key":KEY,"pid":P,"rank":R?,"store_addr":A?,"store_port":N?}
// The rank is told by "rank" (global), else by the pid of the connecting process or "pid", else it is the only one.
// Rank -> launcher: progress, joined, lost, finished, checkpoint, failure, diagnosis. Launcher -> rank: rendezvous, preempt,
// stop, diagnose. A line is at most 256 KiB (4 KiB before the hello); a connection that breaks a rule is closed, the rank
// goes on and may connect again.
#pragma once
#include <memory>
#include <string>
#include <unordered_map>

#include "worker/launcher/poller.h"

namespace gt::launcher {

struct RankHello {
  int64_t rank = -1;  // global, -1: not said
  pid_t peer_pid = 0, said_pid = 0;
  std::string store_addr;
  uint16_t store_port = 0;
};

struct RankLine {
  std::string type;     // "progress", ...
  std::string message;  // of a failure, else ""
  std::string line;     // as received
};

// An attempt, as its ranks reach it.
class RankListener {
 public:
  // The local rank, or -1 to refuse. May Send to `connection` only after returning: use OnConnected.
  virtual int OnHello(const RankHello& hello) = 0;
  virtual void OnConnected(uint32_t local_rank, uint64_t connection, const RankHello& hello) = 0;
  virtual void OnLine(uint32_t local_rank, const RankLine& line) = 0;
  virtual void OnDisconnected(uint32_t local_rank, uint64_t connection) = 0;

 protected:
  ~RankListener() = default;
};

class RankSocket {
 public:
  explicit RankSocket(Poller* poller) : poller_(poller) {}
  Status Open(const std::string& path);
  void Register(const std::string& key, RankListener* listener) { listeners_[key] = listener; }
  void Unregister(const std::string& key);  // closes its connections without telling
  // A line without its newline. Unknown connections are ignored; one that does not read is closed.
  void Send(uint64_t connection, const std::string& line);

 private:
  struct Connection {
    Fd fd;
    Poller::Handle handle = 0;
    std::string in, out;
    RankListener* listener = nullptr;
    std::string key;
    uint32_t local_rank = 0;
    Millis since = 0;
  };
  void Accept();
  void OnEvent(uint64_t id, uint32_t events);
  bool ReadSome(uint64_t id);
  bool TakeLine(uint64_t id, std::string line);
  bool TakeHello(uint64_t id, const std::string& line);
  bool Write(Connection* connection);
  void Close(uint64_t id, bool tell);
  void CloseSilent();

  Poller* poller_;
  Fd listen_;
  Poller::Handle handle_ = 0;
  uint64_t next_ = 1;
  std::unordered_map<uint64_t, Connection> connections_;
  std::unordered_map<std::string, RankListener*> listeners_;
};

}  // namespace gt::launcher
