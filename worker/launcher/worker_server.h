// DIR/launcher.sock: the workers that are connected (one, or two for a moment). Loop thread only.
#pragma once
#include <functional>
#include <memory>
#include <unordered_map>

#include "worker/launcher/poller.h"
#include "worker/launcher/protocol.h"

namespace gt::launcher {

class WorkerServer {
 public:
  struct Handlers {
    // What a new worker must know, HelloReply to SnapshotEnd, as frames.
    std::function<void(std::string* frames)> snapshot;
    // `answer` takes frames for the sender only.
    std::function<void(const Message&, const std::function<void(const State&)>& answer)> message;
  };
  WorkerServer(Poller* poller, Handlers handlers) : poller_(poller), handlers_(std::move(handlers)) {}
  Status Open(const std::string& path);

  // To every worker that has said Hello; sent at the end of the turn, so that many frames share a write.
  template <typename T>
  void Broadcast(const T& message) {
    std::string frame;
    AppendFrame(message, &frame);
    for (auto& [id, connection] : connections_)
      if (connection.greeted) connection.out += frame;
  }
  // Sends what was gathered: Poller::AfterTurn.
  void Flush();

 private:
  struct Connection {
    Fd fd;
    Poller::Handle handle = 0;
    FrameParser parser;
    std::string out;
    size_t sent = 0;
    bool greeted = false;
    bool waits = false;  // for EPOLLOUT
  };
  void Accept();
  bool OnReadable(uint64_t id);
  bool Take(Connection* connection, const Message& message);
  bool Write(Connection* connection);
  void Close(uint64_t id);

  Poller* poller_;
  Handlers handlers_;
  Fd listen_;
  Poller::Handle handle_ = 0;
  uint64_t next_ = 1;
  std::unordered_map<uint64_t, Connection> connections_;
};

}  // namespace gt::launcher
