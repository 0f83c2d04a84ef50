#include "cli/log_printer.h"

#include "common/base/ids.h"
#include "common/text/message_text.h"
#include "common/text/text.h"

namespace gt {

using gridtrain::v1::LogChunk;
using gridtrain::v1::ReadLogsRequest;

void LogPrinter::Add(const LogChunk& chunk) {
  if (!chunk.has_uid() || chunk.data().empty()) return;
  Key key{chunk.uid().high(), chunk.uid().low(), chunk.rank(), chunk.stream()};
  Stream& stream = streams_[key];
  stream.attempt = chunk.attempt();
  stream.node = chunk.node();
  std::string_view data = chunk.data();
  if (chunk.offset() < stream.next) {
    uint64_t known = stream.next - chunk.offset();
    if (known >= data.size()) return;
    data.remove_prefix(known);
  }
  stream.next = chunk.offset() + chunk.data().size();
  bool shown = style_.stream == 0 || chunk.stream() == static_cast<uint32_t>(style_.stream);
  if (!shown) return;
  if (AsItIs() && !style_.whole_lines)
    out_(data);
  else
    Lines(key, &stream, data, chunk.time_ms());
}

void LogPrinter::Lines(const Key& key, Stream* stream, std::string_view data, Millis time) {
  while (!data.empty()) {
    if (stream->held.empty()) stream->time = time;
    size_t end = data.find('\n');
    bool whole = end != std::string_view::npos;
    stream->held += data.substr(0, end);
    data.remove_prefix(whole ? end + 1 : data.size());
    if (!whole && stream->held.size() < kMaxHeldLine) return;
    if (AsItIs())
      out_(whole ? stream->held + "\n" : stream->held);
    else
      Line(key, *stream, stream->held);
    stream->held.clear();
  }
}

void LogPrinter::Line(const Key& key, const Stream& stream, std::string_view text) {
  if (style_.json) {
    Json json = {{"time", FormatTime(stream.time)},
                 {"attempt", stream.attempt},
                 {"rank", std::get<2>(key)},
                 {"node", stream.node.empty() ? Json(nullptr) : Json(Printable(stream.node))},
                 {"stream", std::get<3>(key) == 2 ? "stderr" : "stdout"},
                 {"text", std::string(text)}};
    return out_(Dump(json) + "\n");
  }
  std::string line;
  if (style_.timestamps) line += FormatTime(stream.time) + " ";
  if (style_.prefix) line += "[rank " + std::to_string(std::get<2>(key)) + "] ";
  out_(line.append(text) + "\n");
}

void LogPrinter::Flush() {
  for (auto& [key, stream] : streams_) {
    if (stream.held.empty()) continue;
    if (AsItIs())
      out_(stream.held);
    else
      Line(key, stream, stream.held);
    stream.held.clear();
  }
}

void LogPrinter::FillCursors(ReadLogsRequest* request) const {
  request->clear_cursors();
  for (const auto& [key, stream] : streams_) {
    auto* cursor = request->add_cursors();
    cursor->mutable_uid()->set_high(std::get<0>(key));
    cursor->mutable_uid()->set_low(std::get<1>(key));
    cursor->set_rank(std::get<2>(key));
    cursor->set_stream(std::get<3>(key));
    cursor->set_offset(stream.next);
  }
}

}  // namespace gt
