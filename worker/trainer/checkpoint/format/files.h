// Durable files: written, synced, and only then named.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "worker/trainer/checkpoint/format/sha256.h"

namespace gt::trainer {

struct FileDigest {
  std::string name;
  int64_t bytes = 0;
  std::string sha256;
  bool operator==(const FileDigest&) const = default;
};

// A new file, digested while it is written. Dropped without Finish, it leaves a torn file behind.
class DigestedFile {
 public:
  static Result<DigestedFile> Create(const std::string& folder, const std::string& name);
  ~DigestedFile();
  DigestedFile(DigestedFile&& other) noexcept;
  DigestedFile& operator=(DigestedFile&&) = delete;
  Status Write(const void* data, size_t bytes);
  Result<FileDigest> Finish();  // fsync, close

 private:
  DigestedFile(int fd, std::string path, std::string name);
  int fd_;
  std::string path_;
  FileDigest digest_;
  Sha256 sha256_;
};

Status SyncFolder(const std::string& path);
Result<std::string> ReadWhole(const std::string& path, int64_t most_bytes);
Result<FileDigest> DigestOf(const std::string& folder, const std::string& name);

}  // namespace gt::trainer
