// Any bytes as a stream of frames between gt-worker and gt-launcher: however it is cut into reads it holds the same
// messages and ends the same way; and a message that was read means the same once it is written again.
#include <vector>

#include "common/base/assert.h"
#include "tests/fuzz/fuzz.h"
#include "worker/launcher/protocol.h"

namespace gt::launcher {
namespace {

std::string Encoded(const Message& message) {
  std::string frame;
  std::visit([&](const auto& one) { AppendFrame(one, &frame); }, message);
  return frame;
}

struct Heard {
  std::vector<std::string> messages;  // written again
  bool broken = false;
  bool operator==(const Heard&) const = default;
};

Heard Hear(std::string_view stream, size_t read_size) {
  Heard heard;
  FrameParser parser;
  while (!stream.empty() && !heard.broken) {
    parser.Append(stream.substr(0, read_size));
    stream.remove_prefix(std::min(read_size, stream.size()));
    while (true) {
      Result<std::optional<Message>> next = parser.Next();
      heard.broken = !next.ok();
      if (heard.broken || !next->has_value()) break;
      heard.messages.push_back(Encoded(**next));
    }
  }
  return heard;
}

}  // namespace
}  // namespace gt::launcher

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gt::launcher;
  gt::fuzz::Input input(data, size);
  size_t read_size = 1 + input.Take<uint8_t>();
  std::string_view stream = input.rest();
  Heard whole = Hear(stream, stream.size());
  GT_ASSERT(whole == Hear(stream, read_size));
  for (const std::string& frame : whole.messages) {
    GT_ASSERT(frame.size() <= kMaxFrame);
    Heard again = Hear(frame, frame.size());
    GT_ASSERT(!again.broken && again.messages == std::vector<std::string>{frame});
  }
  return 0;
}
