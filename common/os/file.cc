#include "common/os/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>

namespace gt {

Result<Fd> OpenFile(const std::string& path, int flags, mode_t mode) {
  int fd = open(path.c_str(), flags | O_CLOEXEC, mode);
  if (fd < 0) return ErrnoStatus(errno, path);
  return Fd(fd);
}

Result<std::string> ReadFile(const std::string& path, size_t limit) {
  GT_ASSIGN_OR_RETURN(Fd fd, OpenFile(path, O_RDONLY));
  std::string data;
  char buffer[16384];
  while (true) {
    ssize_t got = read(fd.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, path);
    if (got == 0) return data;
    data.append(buffer, static_cast<size_t>(got));
    if (data.size() > limit) {
      return Status(Code::kResourceExhausted, path + ": longer than " + std::to_string(limit) + " bytes");
    }
  }
}

Status WriteAll(int fd, std::string_view data) {
  while (!data.empty()) {
    ssize_t put = write(fd, data.data(), data.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return ErrnoStatus(errno, "write");
    data.remove_prefix(static_cast<size_t>(put));
  }
  return OkStatus();
}

Result<std::string> ReadAt(int fd, int64_t offset, size_t size) {
  std::string bytes(size, '\0');
  size_t have = 0;
  while (have < size) {
    ssize_t got = pread(fd, bytes.data() + have, size - have, offset + static_cast<int64_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, "read");
    if (got == 0) break;
    have += static_cast<size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

Status WriteAllAt(int fd, std::string_view data, int64_t offset) {
  while (!data.empty()) {
    ssize_t put = pwrite(fd, data.data(), data.size(), offset);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return ErrnoStatus(errno, "write");
    data.remove_prefix(static_cast<size_t>(put));
    offset += put;
  }
  return OkStatus();
}

Status WriteFile(const std::string& path, std::string_view data, mode_t mode) {
  GT_ASSIGN_OR_RETURN(Fd fd, OpenFile(path, O_WRONLY | O_CREAT | O_TRUNC, mode));
  return WriteAll(fd.get(), data).WithContext(path);
}

namespace {
Status WriteAndSync(int fd, std::string_view data, mode_t mode) {
  if (fchmod(fd, mode) != 0) return ErrnoStatus(errno, "fchmod");
  GT_RETURN_IF_ERROR(WriteAll(fd, data));
  return fsync(fd) == 0 ? OkStatus() : ErrnoStatus(errno, "fsync");
}
}  // namespace

Status WriteFileDurably(const std::string& path, std::string_view data, mode_t mode) {
  std::string temp = path + ".XXXXXX";
  Fd fd(mkostemp(temp.data(), O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, temp);
  Status status = WriteAndSync(fd.get(), data, mode);
  if (status.ok() && rename(temp.c_str(), path.c_str()) != 0) status = ErrnoStatus(errno, "rename");
  if (!status.ok()) {
    unlink(temp.c_str());
    return status.WithContext(path);
  }
  return SyncDirectory(DirectoryOf(path));
}

Status SyncDirectory(const std::string& path) {
  GT_ASSIGN_OR_RETURN(Fd fd, OpenFile(path, O_RDONLY | O_DIRECTORY));
  return fsync(fd.get()) == 0 ? OkStatus() : ErrnoStatus(errno, path);
}

Status MakeDirectories(const std::string& path, mode_t mode) {
  for (size_t at = 1; at <= path.size(); ++at) {
    if (at != path.size() && path[at] != '/') continue;
    std::string part = path.substr(0, at);
    if (mkdir(part.c_str(), mode) == 0) {
      if (at == path.size() && chmod(part.c_str(), mode) != 0) return ErrnoStatus(errno, part);
    } else if (struct stat info; errno != EEXIST || stat(part.c_str(), &info) != 0) {
      return ErrnoStatus(errno, part);
    } else if (!S_ISDIR(info.st_mode)) {
      return ErrnoStatus(ENOTDIR, part);
    }
  }
  return OkStatus();
}

Result<std::vector<std::string>> ListDirectory(const std::string& path) {
  DIR* directory = opendir(path.c_str());
  if (directory == nullptr) return ErrnoStatus(errno, path);
  std::vector<std::string> names;
  errno = 0;
  while (dirent* entry = readdir(directory)) {
    std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(std::move(name));
  }
  int error = errno;
  closedir(directory);
  if (error != 0) return ErrnoStatus(error, path);
  std::sort(names.begin(), names.end());
  return names;
}

Status RemoveFile(const std::string& path) {
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return OkStatus();
  return ErrnoStatus(errno, path);
}

Result<uint64_t> FileSize(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return ErrnoStatus(errno, path);
  return static_cast<uint64_t>(info.st_size);
}

bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

std::string DirectoryOf(const std::string& path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Result<Fd> LockFile(const std::string& path) {
  GT_ASSIGN_OR_RETURN(Fd fd, OpenFile(path, O_RDWR | O_CREAT, 0600));
  while (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) return Status(Code::kFailedPrecondition, path + ": in use by another process");
    return ErrnoStatus(errno, path);
  }
  return fd;
}

Status Preallocate(int fd, int64_t bytes) {
  int error;  // posix_fallocate returns it, errno stays
  do {
    error = posix_fallocate(fd, 0, bytes);
  } while (error == EINTR);
  return error == 0 ? OkStatus() : ErrnoStatus(error, "preallocate");
}

Result<int64_t> FreeBytes(const std::string& path) {
  struct statvfs info;
  if (statvfs(path.c_str(), &info) != 0) return ErrnoStatus(errno, path);
  return static_cast<int64_t>(info.f_bavail) * static_cast<int64_t>(info.f_frsize);
}

Result<bool> OnNetworkFileSystem(const std::string& path) {
  struct statfs info;
  if (statfs(path.c_str(), &info) != 0) return ErrnoStatus(errno, path);
  switch (static_cast<uint32_t>(info.f_type)) {
    case 0x6969:      // NFS
    case 0xFF534D42:  // CIFS
    case 0xFE534D42:  // SMB2
    case 0x517B:      // SMB
    case 0x65735546:  // FUSE
    case 0x0BD00BD0:  // Lustre
    case 0x00C36400:  // Ceph
    case 0x47504653:  // GPFS
    case 0x01021997:  // 9P
    case 0x5346414F:  // AFS
      return true;
    default:
      return false;
  }
}

}  // namespace gt
