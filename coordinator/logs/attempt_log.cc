#include "coordinator/logs/attempt_log.h"

#include <algorithm>

namespace gt::logs {

size_t AttemptLog::OrdinalOf(LogStream from) {
  auto found = std::find(streams.begin(), streams.end(), from);
  if (found != streams.end()) return static_cast<size_t>(found - streams.begin());
  streams.push_back(from);
  ends.push_back(0);
  return streams.size() - 1;
}

uint64_t AttemptLog::EndOf(LogStream from) const {
  auto found = std::find(streams.begin(), streams.end(), from);
  return found == streams.end() ? 0 : ends[static_cast<size_t>(found - streams.begin())];
}

LogCursors AttemptLog::Sizes() const {
  LogCursors sizes;
  for (size_t i = 0; i < streams.size(); i++) sizes[streams[i]] = ends[i];
  return sizes;
}

void AttemptLog::NoteSmall(const Frame& frame, const std::string& path, uint64_t position) {
  if (frame.kind == FrameKind::kDeleted) return Clear();
  small.push_back({path, position, frame.arrival});
  small_data += frame.size;
  ends[OrdinalOf(frame.from)] = frame.end();
}

void AttemptLog::NoteOwn(const Frame& frame, int64_t position) {
  size_t ordinal = OrdinalOf(frame.from);
  if (points.empty() || position - points.back().position >= kPointEvery) points.push_back({position, ends});
  ends[ordinal] = frame.end();
  own_bytes = position + static_cast<int64_t>(kHeaderBytes + frame.size);
}

void AttemptLog::Clear() {
  small.clear();
  small_data = 0;
  streams.clear();
  ends.clear();
}

}  // namespace gt::logs
