// One unix stream socket that carries lines. Not thread-safe: its owner locks.
#pragma once
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace gt::trainer {

class LineSocket {
 public:
  LineSocket() = default;  // closed
  ~LineSocket();
  LineSocket(LineSocket&& other) noexcept;
  LineSocket& operator=(LineSocket&& other) noexcept;

  static Result<LineSocket> Connect(const std::string& path);
  explicit LineSocket(int fd) : fd_(fd) {}  // takes over a connected, non-blocking socket

  int fd() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  void Close();

  // Queues a line (with its newline) and writes what the peer takes at once; never blocks. False: the queue is full
  // (256 KiB) and the line was dropped.
  bool Send(std::string_view line);
  size_t unsent_bytes() const { return outbox_.size(); }
  // Writes more of the queue. False when the peer is gone.
  bool Flush();

  // Reads what there is. False at the end of the stream, on an error, or when a line exceeds 64 KiB.
  bool Receive();
  // Takes one complete line, without its newline; false when there is none.
  bool NextLine(std::string* line);

 private:
  int fd_ = -1;
  std::string outbox_, inbox_;
};

}  // namespace gt::trainer
