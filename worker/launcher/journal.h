// Which attempts were started here and how they ended: what must survive the launcher. One preallocated file.
//
// Format: records back to back from offset 0, zeros after them:
//   u32 size of body (> 0)  u32 CRC-32 of body  body: u8 kind, then
//   kind 1 START   Started           before the first fork
//   kind 2 KEEPER  uid, i32 pid, u64 start ticks
//   kind 3 EXIT    ExitRecord (protocol.h)
//   kind 4 FORGET  uid
// Reading stops at the first record that is not whole: that is the torn tail of a crash. Opening rewrites the file
// with what is still wanted (aside, fsync, rename), so that no stale byte ever follows a new record.
// Not thread-safe: the disk thread's.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/os/fd.h"
#include "worker/launcher/gang.h"
#include "worker/launcher/protocol.h"

namespace gt::launcher {

struct Started {
  Uid uid;
  std::string boot_id;
  Generation generation;
  uint32_t first_rank = 0;
  uint32_t ranks = 0;
  Millis wall = 0;
  template <typename A> void Fields(A& a) { a(uid, boot_id, generation, first_rank, ranks, wall); }
};

struct JournalEntry {
  Started start;
  KeeperId keeper;
  std::optional<ExitRecord> exit;
};

class Journal {
 public:
  static constexpr size_t kSmallest = 4u << 20;

  // Reads `path` (made when missing) into *entries. A file that cannot be understood at all counts as empty.
  Status Open(const std::string& path, std::map<Uid, JournalEntry>* entries);

  // What records mean, as far as they are whole: the attempts that are not forgotten, and the records of each.
  static void Replay(std::string_view bytes, std::map<Uid, JournalEntry>* entries, std::map<Uid, std::string>* live);

  // Each takes a place in the file; Write hands all of them to the kernel at once, Sync makes them durable.
  // kResourceExhausted: no space. The last quarter of the file is for everything but starts, so that exits still find room
  // on a full disk.
  Status AppendStart(const Started& start);
  Status AppendKeeper(const Uid& uid, const KeeperId& keeper);
  Status AppendExit(const ExitRecord& record);
  Status AppendForget(const Uid& uid);
  Status Write();  // on failure it is all tried again by the next one
  Status Sync();   // Write and fdatasync

 private:
  enum class Kind : uint8_t { kStart = 1, kKeeper, kExit, kForget };
  template <typename... Fields>
  static std::string Encode(Kind kind, const Fields&... fields);
  Status Append(const Uid& uid, const std::string& record, bool keep_reserve);
  Status Rewrite(size_t more);
  static bool Apply(std::string_view body, std::map<Uid, JournalEntry>* entries, std::map<Uid, std::string>* live,
                    std::string_view record);

  std::string path_;
  Fd file_;
  size_t capacity_ = 0, used_ = 0, live_bytes_ = 0;  // used_: with what waits in buffer_
  std::string buffer_;
  std::map<Uid, std::string> live_;  // the records of each attempt that is not forgotten
};

}  // namespace gt::launcher
