// Any bytes as the files of a log store: it opens, reading ends and gives no more than there is, what is appended is there,
// and what is deleted is gone. Input: how they are treated, the sizes of two segments and an index, then those and an
// attempt's own file.
#include <vector>

#include "common/base/assert.h"
#include "common/os/file.h"
#include "coordinator/logs/log_store.h"
#include "tests/fuzz/log_files.h"

namespace gt {
namespace {

const Uid kUid{1, 2};
constexpr int kMaxTurns = 10'000;
constexpr uint64_t kBeyond = uint64_t{1} << 60;  // offsets that no sender may use

struct Files {
  std::string first, index, second, own;
};

Files Split(fuzz::Input input) {
  uint8_t fix = input.Take<uint8_t>();
  size_t first = input.Take<uint16_t>(), index = input.Take<uint16_t>(), second = input.Take<uint16_t>();
  Files files;
  for (auto [file, size] : {std::pair(&files.first, first), {&files.index, index}, {&files.second, second}})
    *file = input.TakeBytes(size);
  files.own = input.rest();
  if ((fix & 1) != 0)
    for (std::string* file : {&files.first, &files.second, &files.own}) fuzz::FixFrames(file);
  if ((fix & 2) != 0) fuzz::FixIndex(&files.index, files.first.size());
  return files;
}

void Write(const Files& files, const std::string& dir) {
  const std::string own = dir + "/attempts/" + ToHex(kUid).substr(0, 2), segments = dir + "/segments";
  GT_ASSERT(MakeDirectories(segments).ok() && MakeDirectories(own).ok());
  GT_ASSERT(WriteFile(segments + "/0000000001.log", files.first).ok());
  if (!files.index.empty()) GT_ASSERT(WriteFile(segments + "/0000000001.idx", files.index).ok());
  GT_ASSERT(WriteFile(segments + "/0000000002.log", files.second).ok());
  if (!files.own.empty()) GT_ASSERT(WriteFile(own + "/" + ToHex(kUid) + ".log", files.own).ok());
}

uint64_t EndOf(const LogCursors& cursors, LogStream from) {
  auto found = cursors.find(from);
  return found == cursors.end() ? 0 : found->second;
}

// Reads to the end; returns how much output there was.
size_t ReadToEnd(LogStore* store, const LogSelection& selection, LogCursors cursors, size_t limit) {
  size_t bytes = 0;
  for (int turns = 0;; ++turns) {
    GT_ASSERT(turns < kMaxTurns);
    LogCursors before = cursors;
    Result<std::vector<LogPiece>> pieces = store->ReadMerged(kUid, selection, &cursors, limit);
    GT_ASSERT(pieces.ok() || pieces.status().code() == Code::kDataLoss);
    if (!pieces.ok() || pieces->empty()) return bytes;
    for (const LogPiece& piece : *pieces) {
      GT_ASSERT(selection.Has(piece.from) && piece.data.size() <= limit);
      GT_ASSERT(piece.data.empty() || piece.notice.empty());
      bytes += piece.data.size();
    }
    for (const auto& [from, offset] : before) GT_ASSERT(EndOf(cursors, from) >= offset);
  }
}

void CheckAppend(LogStore* store) {
  constexpr std::string_view kText = "appended\n";
  const LogStream from{9, kStderr};
  Result<LogCursors> sizes = store->Sizes(kUid);
  GT_ASSERT(sizes.ok());
  uint64_t end = EndOf(*sizes, from);
  if (end > kBeyond) return;
  std::vector<LogInput> inputs = {{.uid = kUid, .from = from, .offset = end, .data = kText, .time_wall = 1}};
  GT_ASSERT(store->Append(inputs).ok());
  GT_ASSERT(EndOf(*store->Sizes(kUid), from) == end + kText.size());
}

void Check(const std::string& dir, size_t bytes) {
  LogStoreOptions options{.small_bytes = 256, .segment_bytes = 1024};
  Result<std::unique_ptr<LogStore>> opened = LogStore::Open(dir, options);
  GT_ASSERT(opened.ok());
  LogStore* store = opened->get();
  GT_ASSERT(store->Sizes(kUid).ok());
  GT_ASSERT(ReadToEnd(store, {}, {}, 1 << 20) <= bytes);
  GT_ASSERT(ReadToEnd(store, {.ranks = {0}, .streams = {kStdout}}, {}, 7) <= bytes);
  Result<LogCursors> tail = store->Tail(kUid, {}, 2);
  GT_ASSERT(tail.ok() || tail.status().code() == Code::kDataLoss);
  if (tail.ok()) ReadToEnd(store, {}, *tail, 1 << 20);
  CheckAppend(store);
  GT_ASSERT(store->Expire(INT64_MAX, [](const Uid&) { return true; }).ok());
  GT_ASSERT(store->Sizes(kUid).ok());
  GT_ASSERT(store->DeleteAttempt(kUid).ok());
  GT_ASSERT(store->Sizes(kUid)->empty() && ReadToEnd(store, {}, {}, 100) == 0);
}

}  // namespace
}  // namespace gt

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gt;
  Files files = Split(fuzz::Input(data, size));
  fuzz::ClearScratch();
  Write(files, fuzz::Scratch());
  Check(fuzz::Scratch(), files.first.size() + files.second.size() + files.own.size());
  return 0;
}
