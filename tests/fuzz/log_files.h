// Right checksums for damaged files of coordinator/logs, so that damage reaches what they guard.
#pragma once
#include <string>

#include "common/base/crc32c.h"
#include "coordinator/logs/frame.h"
#include "tests/fuzz/fuzz.h"

namespace gt::fuzz {

// Of each frame, as far as one follows the other.
inline void FixFrames(std::string* file) {
  for (size_t at = 0; at + logs::kHeaderBytes <= file->size();) {
    std::string_view bytes(*file);
    uint64_t size = ReadInt<uint32_t>(bytes, at + 12);
    std::string_view data = bytes.substr(at + logs::kHeaderBytes, size);
    WriteInt(file, at + 8, Crc32c(data));
    WriteInt(file, at + 4, Crc32c(std::string_view(*file).substr(at + 8, logs::kHeaderBytes - 8)));
    at += logs::kHeaderBytes + size;
  }
}

// Of an index, which also says how long its segment is.
inline void FixIndex(std::string* index, size_t segment_bytes) {
  constexpr size_t kHeader = 40;
  if (index->size() < kHeader) return;
  WriteInt(index, 16, static_cast<uint64_t>(segment_bytes));
  WriteInt(index, 4, Crc32c(std::string_view(*index).substr(8)));
}

}  // namespace gt::fuzz
