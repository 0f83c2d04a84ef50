// Any bytes as a packed field of a row: refused, or read into something that is no larger than they are and that packs into
// bytes which read as the same again. Input: which kind of field, then the field.
#include "common/base/assert.h"
#include "coordinator/store/pack.h"
#include "tests/fuzz/fuzz.h"

namespace gt {
namespace {

std::string OfLines(const std::vector<HistoryLine>& lines) {
  std::string blob;
  for (const HistoryLine& line : lines) pack::AppendLine(line, &blob);
  return blob;
}

// `least` bytes at least stand for each element.
template <typename T, typename Read, typename Write>
void CheckList(std::string_view blob, size_t least, Read read, Write write) {
  T list;
  bool ok = read(blob, &list);
  GT_ASSERT(list.size() <= blob.size() / least + 1);  // the last one may have been the broken one
  if (ok) GT_ASSERT(write(list) == blob);
}

// Maps lose what was there twice, so the second reading is the one that has to agree.
template <typename T, typename Read, typename Write>
void CheckStruct(std::string_view blob, Read read, Write write) {
  T value, again;
  if (!read(blob, &value)) return;
  std::string packed = write(value);
  GT_ASSERT(packed.size() <= blob.size());
  GT_ASSERT(read(packed, &again));
  GT_ASSERT(write(again) == packed);
}

}  // namespace
}  // namespace gt

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gt;
  fuzz::Input input(data, size);
  uint8_t kind = input.Take<uint8_t>();
  fuzz::Exact exact(input.rest());
  std::string_view blob = exact.view();
  switch (kind % 6) {
    case 0:
      CheckList<std::vector<std::string>>(blob, 4, pack::ReadStrings, pack::Strings);
      break;
    case 1:
      CheckList<std::deque<Millis>>(blob, 8, pack::ReadTimes, pack::Times);
      break;
    case 2:
      CheckStruct<Progress>(blob, pack::ReadProgress, pack::OfProgress);
      break;
    case 3:
      CheckStruct<Inventory>(blob, pack::ReadInventory, pack::OfInventory);
      break;
    case 4:
      CheckList<std::vector<HistoryLine>>(blob, 20, pack::ReadLines, OfLines);
      break;
    default:
      if (Uid uid; pack::ReadUid(blob, &uid)) GT_ASSERT(pack::OfUid(uid) == blob);
  }
  return 0;
}
