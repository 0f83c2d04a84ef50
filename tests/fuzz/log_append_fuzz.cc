// Any sequence of appends, reads, restarts and deletions of a log store, against a model of what it keeps. Each byte of
// output follows from its place, so that a byte in the wrong place shows. Input: one operation after the other.
#include <filesystem>
#include <map>
#include <vector>

#include "common/base/assert.h"
#include "coordinator/logs/log_store.h"
#include "tests/fuzz/fuzz.h"

namespace gt {
namespace {

constexpr Uid kUids[] = {{1, 2}, {3, 4}};
constexpr LogStream kStreams[] = {{0, kStdout}, {0, kStderr}, {1, kStdout}};
constexpr uint64_t kLastOffset = uint64_t{1} << 60;  // what the coordinator lets pass
constexpr int kMaxTurns = 1000;
constexpr uint8_t kMuch = 77;  // rare, because it takes long

char ByteAt(uint64_t offset) { return offset % 11 == 0 ? '\n' : static_cast<char>('a' + offset % 23); }

std::string Output(uint64_t offset, size_t size) {
  std::string output;
  for (size_t i = 0; i < size; ++i) output += ByteAt(offset + i);
  return output;
}

using Pieces = std::map<uint64_t, uint64_t>;  // begin -> end of what was kept

// What one stream should hold.
struct Model {
  Pieces kept;
  uint64_t end = 0;
  void Append(uint64_t offset, uint64_t size) {
    if (offset + size <= end) return;
    uint64_t begin = std::max(offset, end);
    end = offset + size;
    if (!kept.empty() && kept.rbegin()->second == begin) kept.rbegin()->second = end;
    else if (begin < end) kept[begin] = end;
  }
  Pieces From(uint64_t cursor) const {
    Pieces rest;
    for (auto [begin, end] : kept)
      if (end > cursor) rest[std::max(begin, cursor)] = end;
    return rest;
  }
  // Where the last lines begin; the end for none.
  uint64_t LastLines(uint64_t lines) const {
    bool last = true;
    for (auto piece = kept.rbegin(); piece != kept.rend(); ++piece)
      for (uint64_t at = piece->second; at-- > piece->first; last = false)
        if (ByteAt(at) == '\n' && !last && --lines == 0) return at + 1;
    return 0;
  }
};

class Run {
 public:
  Run() { Open(); }
  ~Run() {
    store_.reset();
    Open();  // everything was on disk
    for (int which = 0; which < 6; ++which) CheckRead(which, 0, 20), CheckRead(which, models_[which].end / 2, 1 << 20);
    CheckBytes();
  }

  void Append(fuzz::Input* input) {
    std::vector<std::string> outputs;
    std::vector<LogInput> inputs;
    size_t count = 1 + input->Take<uint8_t>() % 3;
    outputs.reserve(count);
    for (; count > 0; --count) {
      int which = input->Take<uint8_t>() % 6;
      uint64_t offset = OffsetFor(models_[which], input);
      size_t size = input->Take<uint8_t>() * (input->Take<uint8_t>() == kMuch ? 3000u : 1u);
      outputs.push_back(Output(offset, size));
      inputs.push_back({UidOf(which), StreamOf(which), offset, outputs.back(), ++time_});
      models_[which].Append(offset, size);
    }
    GT_ASSERT(store_->Append(inputs).ok());
  }
  void Read(fuzz::Input* input) {
    int which = input->Take<uint8_t>() % 6;
    uint64_t cursor = OffsetFor(models_[which], input);
    CheckRead(which, cursor, 1 + input->Take<uint16_t>());
  }
  void Tail(fuzz::Input* input) {
    int which = input->Take<uint8_t>() % 6;
    uint64_t lines = input->Take<uint8_t>() % 8;
    const Model& model = models_[which];
    LogStream from = StreamOf(which);
    Result<LogCursors> cursors = store_->Tail(UidOf(which), {.ranks = {from.rank}, .streams = {from.stream}}, lines);
    GT_ASSERT(cursors.ok());
    uint64_t cursor = cursors->contains(from) ? (*cursors)[from] : 0;
    if (lines == 0) GT_ASSERT(cursor == model.end);
    else GT_ASSERT(model.From(cursor) == model.From(model.LastLines(lines)));
  }
  void Restart() {
    store_.reset();
    Open();
  }
  void Delete(fuzz::Input* input) {
    int uid = input->Take<uint8_t>() % 2;
    GT_ASSERT(store_->DeleteAttempt(kUids[uid]).ok());
    for (int stream = 0; stream < 3; ++stream) models_[uid * 3 + stream] = {};
  }
  void Expire() {
    GT_ASSERT(store_->Expire(INT64_MAX, [](const Uid&) { return true; }).ok());
  }

 private:
  static Uid UidOf(int which) { return kUids[which / 3]; }
  static LogStream StreamOf(int which) { return kStreams[which % 3]; }

  void Open() {
    LogStoreOptions options{.small_bytes = 600, .segment_bytes = 3000, .attempts_in_memory = 1};
    Result<std::unique_ptr<LogStore>> opened = LogStore::Open(fuzz::Scratch(), options);
    GT_ASSERT(opened.ok());
    store_ = std::move(*opened);
  }

  // At the end most often, else a little before or after it, or anywhere.
  static uint64_t OffsetFor(const Model& model, fuzz::Input* input) {
    uint8_t how = input->Take<uint8_t>();
    if (how < 160) return model.end;
    if (how < 200) return std::min(model.end + how, kLastOffset);
    if (how < 250) return model.end - std::min<uint64_t>(model.end, how);
    return input->Take<uint64_t>() % (kLastOffset + 1);
  }

  // In steps of `limit` bytes, or larger ones where there is much.
  void CheckRead(int which, uint64_t cursor, size_t limit) {
    for (auto [begin, end] : models_[which].kept) limit = std::max<size_t>(limit, (end - begin) / 16);
    Pieces found;
    uint64_t from = cursor;
    for (int turns = 0;; ++turns) {
      GT_ASSERT(turns < kMaxTurns);
      Result<std::vector<LogPiece>> pieces = store_->Read(UidOf(which), StreamOf(which), from, limit);
      GT_ASSERT(pieces.ok());
      if (pieces->empty()) break;
      for (const LogPiece& piece : *pieces) {
        GT_ASSERT(piece.from == StreamOf(which) && piece.data.size() <= limit);
        if (!piece.notice.empty()) GT_ASSERT(piece.data.empty() && piece.offset > from);
        else GT_ASSERT(piece.offset == from && piece.data == Output(from, piece.data.size()));
        from = piece.offset + piece.data.size();
        if (piece.data.empty()) continue;
        if (!found.empty() && found.rbegin()->second == piece.offset) found.rbegin()->second = from;
        else found[piece.offset] = from;
      }
    }
    GT_ASSERT(found == models_[which].From(cursor));
    LogCursors sizes = store_->Sizes(UidOf(which)).value();
    GT_ASSERT(sizes[StreamOf(which)] == models_[which].end);
  }

  void CheckBytes() const {
    int64_t bytes = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(fuzz::Scratch()))
      if (entry.is_regular_file()) bytes += static_cast<int64_t>(entry.file_size());
    GT_ASSERT(store_->TotalBytes() == bytes);
  }

  std::unique_ptr<LogStore> store_;
  Model models_[6];
  Millis time_ = 1000;
};

}  // namespace
}  // namespace gt

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gt::fuzz::ClearScratch();
  gt::Run run;
  gt::fuzz::Input input(data, size);
  while (!input.empty()) {
    uint8_t operation = input.Take<uint8_t>();
    if (operation < 180) run.Append(&input);
    else if (operation < 200) run.Read(&input);
    else if (operation < 220) run.Tail(&input);
    else if (operation < 235) run.Restart();
    else if (operation < 245) run.Expire();
    else run.Delete(&input);
  }
  return 0;
}
