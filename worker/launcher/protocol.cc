#include "worker/launcher/protocol.h"

namespace gt::launcher {

const char* Name(Phase phase) {
  switch (phase) {
    case Phase::kUnknown: return "UNKNOWN";
    case Phase::kStarting: return "STARTING";
    case Phase::kPrepared: return "PREPARED";
    case Phase::kRunning: return "RUNNING";
    case Phase::kStopping: return "STOPPING";
    case Phase::kEnded: return "ENDED";
  }
  return "?";
}

const char* Name(EndWhy why) {
  switch (why) {
    case EndWhy::kCompleted: return "COMPLETED";
    case EndWhy::kRankFailed: return "RANK_FAILED";
    case EndWhy::kStopped: return "STOPPED";
    case EndWhy::kTimeLimit: return "TIME_LIMIT";
    case EndWhy::kStopAfter: return "STOP_AFTER";
    case EndWhy::kLaunchFailed: return "LAUNCH_FAILED";
    case EndWhy::kLauncherLost: return "LAUNCHER_LOST";
    case EndWhy::kNodeRebooted: return "NODE_REBOOTED";
  }
  return "?";
}

namespace {
template <typename T>
bool DecodeAs(MessageType type, std::string_view payload, std::optional<Message>* message, bool* ok) {
  if (type != T::kType) return false;
  T value;
  Reader read(payload);
  read(value);
  *ok = read.ok();
  if (*ok) *message = std::move(value);
  return true;
}

template <typename... T>
bool DecodeAny(std::variant<T...>*, MessageType type, std::string_view payload, std::optional<Message>* message) {
  bool ok = true;
  (DecodeAs<T>(type, payload, message, &ok) || ...);
  return ok;
}
}  // namespace

Result<std::optional<Message>> FrameParser::Next() {
  while (true) {
    size_t left = buffer_.size() - at_;
    uint32_t length = 0;
    if (left >= sizeof length) std::memcpy(&length, buffer_.data() + at_, sizeof length);
    if (left >= sizeof length && (length == 0 || length > kMaxFrame)) {
      return Status(Code::kInvalidArgument, "frame of " + std::to_string(length) + " bytes");
    }
    if (left < sizeof length || left - sizeof length < length) {
      buffer_.erase(0, at_);  // keep only the part of a frame
      at_ = 0;
      return std::optional<Message>();
    }
    auto type = static_cast<MessageType>(buffer_[at_ + sizeof length]);
    std::string_view payload(buffer_.data() + at_ + sizeof length + 1, length - 1);
    std::optional<Message> message;
    if (!DecodeAny(static_cast<Message*>(nullptr), type, payload, &message)) {
      return Status(Code::kInvalidArgument, "torn message of type " + std::to_string(static_cast<int>(type)));
    }
    at_ += sizeof length + length;
    if (message.has_value()) return message;
  }
}

}  // namespace gt::launcher
