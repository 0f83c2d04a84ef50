// Files: whole reads and writes, durable replacement, locks, space. Any thread. Messages of errors name the path.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/os/fd.h"

namespace gt {

// open(2) with O_CLOEXEC added.
Result<Fd> OpenFile(const std::string& path, int flags, mode_t mode = 0644);

// The whole file. kNotFound when it is not there, kResourceExhausted when it is longer than `limit` bytes.
Result<std::string> ReadFile(const std::string& path, size_t limit = 64u << 20);

// As many bytes as there are from `offset` on, at most `size`.
Result<std::string> ReadAt(int fd, int64_t offset, size_t size);

// All of `data` at the file's own position, or at `offset`. On failure a part may have been written.
Status WriteAll(int fd, std::string_view data);
Status WriteAllAt(int fd, std::string_view data, int64_t offset);

// Truncates and writes; a crash may leave a part. For what can be made again.
Status WriteFile(const std::string& path, std::string_view data, mode_t mode = 0644);
// Temp file beside it, fsync, rename, fsync of the directory: after success the new content survives a power cut; after a
// failure or a crash the old content is still there.
Status WriteFileDurably(const std::string& path, std::string_view data, mode_t mode = 0644);
Status SyncDirectory(const std::string& path);

// Like `mkdir -p`; `mode` for those that are made (the umask does not apply to the last one).
Status MakeDirectories(const std::string& path, mode_t mode = 0755);
// Names in a directory without "." and "..", sorted.
Result<std::vector<std::string>> ListDirectory(const std::string& path);
// ok too when it was not there.
Status RemoveFile(const std::string& path);
bool Exists(const std::string& path);
Result<uint64_t> FileSize(const std::string& path);
std::string DirectoryOf(const std::string& path);  // "a/b" -> "a", "b" -> "."

// An exclusive flock(2) on `path` (made when missing), held until the Fd closes, also by a crash.
// kFailedPrecondition when somebody else holds it.
Result<Fd> LockFile(const std::string& path);

// Gives the file `bytes` of real space (posix_fallocate). kResourceExhausted when there is none.
Status Preallocate(int fd, int64_t bytes);

// Bytes that a process without privileges could still write to the file system of `path`.
Result<int64_t> FreeBytes(const std::string& path);
// NFS, SMB, FUSE, Lustre and the like, where locks and fsync cannot be trusted. Unknown kinds count as local.
Result<bool> OnNetworkFileSystem(const std::string& path);

}  // namespace gt
