#include "worker/trainer/checkpoint/format/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <utility>
#include <vector>

namespace gt::trainer {
namespace {

constexpr size_t kChunkBytes = 1 << 20;

// Calls `take` with every chunk of the file; returns its size.
Result<int64_t> ReadChunks(const std::string& path, int64_t most_bytes,
                           const std::function<void(const char*, size_t)>& take) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(errno, path);
  std::vector<char> chunk(kChunkBytes);
  int64_t total = 0;
  Status status;
  for (;;) {
    ssize_t n = read(fd, chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) status = ErrnoStatus(errno, path);
    if (n <= 0) break;
    total += n;
    if (total > most_bytes) {
      status = Status(Code::kDataLoss, path + " is larger than " + std::to_string(most_bytes) + " bytes");
      break;
    }
    take(chunk.data(), static_cast<size_t>(n));
  }
  close(fd);
  if (!status.ok()) return status;
  return total;
}

}  // namespace

DigestedFile::DigestedFile(int fd, std::string path, std::string name) : fd_(fd), path_(std::move(path)) {
  digest_.name = std::move(name);
}
DigestedFile::DigestedFile(DigestedFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      path_(std::move(other.path_)),
      digest_(std::move(other.digest_)),
      sha256_(other.sha256_) {}
DigestedFile::~DigestedFile() {
  if (fd_ >= 0) close(fd_);
}

Result<DigestedFile> DigestedFile::Create(const std::string& folder, const std::string& name) {
  std::string path = folder + "/" + name;
  int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) return ErrnoStatus(errno, path);
  return DigestedFile(fd, path, name);
}

Status DigestedFile::Write(const void* data, size_t bytes) {
  sha256_.Update(data, bytes);
  digest_.bytes += static_cast<int64_t>(bytes);
  const char* p = static_cast<const char*>(data);
  while (bytes > 0) {
    ssize_t n = write(fd_, p, std::min(bytes, kChunkBytes * 16));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, path_);
    p += n, bytes -= static_cast<size_t>(n);
  }
  return OkStatus();
}

Result<FileDigest> DigestedFile::Finish() {
  Status status = fsync(fd_) == 0 ? OkStatus() : ErrnoStatus(errno, "fsync of " + path_);
  if (close(std::exchange(fd_, -1)) != 0 && status.ok()) status = ErrnoStatus(errno, "close of " + path_);
  if (!status.ok()) return status;
  digest_.sha256 = sha256_.Hex();
  return digest_;
}

Status SyncFolder(const std::string& path) {
  int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(errno, path);
  Status status = fsync(fd) == 0 ? OkStatus() : ErrnoStatus(errno, "fsync of " + path);
  close(fd);
  return status;
}

Result<std::string> ReadWhole(const std::string& path, int64_t most_bytes) {
  std::string text;
  GT_RETURN_IF_ERROR(ReadChunks(path, most_bytes, [&](const char* data, size_t n) { text.append(data, n); }).status());
  return text;
}

Result<FileDigest> DigestOf(const std::string& folder, const std::string& name) {
  FileDigest digest{.name = name};
  Sha256 sha256;
  GT_ASSIGN_OR_RETURN(digest.bytes, ReadChunks(folder + "/" + name, INT64_MAX,
                                               [&](const char* data, size_t n) { sha256.Update(data, n); }));
  digest.sha256 = sha256.Hex();
  return digest;
}

}  // namespace gt::trainer
