// Any bytes as the launcher's journal: the records that are kept of it come to the same attempts when they are read by
// the next start. Also with right checksums, so that damage reaches what they guard.
#include "common/base/assert.h"
#include "tests/fuzz/fuzz.h"
#include "worker/launcher/crc32.h"
#include "worker/launcher/journal.h"

namespace gt::launcher {
namespace {

struct Replayed {
  std::map<Uid, std::string> entries;  // as bytes
  std::map<Uid, std::string> live;
};

Replayed Replay(std::string_view bytes) {
  Replayed result;
  std::map<Uid, JournalEntry> entries;
  Journal::Replay(fuzz::Exact(bytes).view(), &entries, &result.live);
  for (auto& [uid, entry] : entries) {
    Writer write(&result.entries[uid]);
    write(entry.start, entry.keeper.pid, entry.keeper.start_ticks, entry.exit.has_value());
    if (entry.exit) write(*entry.exit);
  }
  return result;
}

void Check(std::string_view bytes) {
  Replayed first = Replay(bytes);
  std::string kept;
  for (const auto& [uid, records] : first.live) kept += records;
  GT_ASSERT(kept.size() <= bytes.size());
  kept.append(64, '\0');  // what follows the records in the file
  Replayed second = Replay(kept);
  GT_ASSERT(second.entries == first.entries);
  GT_ASSERT(second.live == first.live);
}

std::string WithChecksums(std::string_view bytes) {
  std::string fixed(bytes);
  for (size_t at = 0; at + 8 <= fixed.size();) {
    size_t size = fuzz::ReadInt<uint32_t>(fixed, at);
    if (size == 0 || size > fixed.size() - at - 8) break;
    fuzz::WriteInt(&fixed, at + 4, Crc32(std::string_view(fixed).substr(at + 8, size)));
    at += 8 + size;
  }
  return fixed;
}

}  // namespace
}  // namespace gt::launcher

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  gt::launcher::Check(bytes);
  gt::launcher::Check(gt::launcher::WithChecksums(bytes));
  return 0;
}
