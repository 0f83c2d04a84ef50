#include "worker/trainer/data/token_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>

namespace gt::trainer {
namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr int64_t kMostHeaderBytes = 1 << 16;

// The text after `key` in NumPy's header, a Python dictionary such as
// {'descr': '<u2', 'fortran_order': False, 'shape': (5,), }
std::string_view ValueOf(std::string_view text, std::string_view key) {
  size_t at = text.find("'" + std::string(key) + "'");
  if (at == std::string_view::npos) return {};
  at = text.find(':', at);
  if (at == std::string_view::npos) return {};
  at = text.find_first_not_of(' ', at + 1);
  return at == std::string_view::npos ? std::string_view() : text.substr(at);
}

}  // namespace

TokenFile::TokenFile(std::string path, int fd, int64_t bytes, const uint8_t* data)
    : path_(std::move(path)), fd_(fd), bytes_(bytes), data_(data) {}

TokenFile::~TokenFile() {
  if (data_) munmap(const_cast<uint8_t*>(data_), static_cast<size_t>(bytes_));
  close(fd_);
}

Result<std::unique_ptr<TokenFile>> TokenFile::Open(const std::string& path, int token_bytes) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(errno, path);
  struct stat info {};
  bool regular = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  int64_t bytes = regular ? info.st_size : 0;
  void* data = bytes > 0 ? mmap(nullptr, static_cast<size_t>(bytes), PROT_READ, MAP_SHARED, fd, 0) : nullptr;
  int error = errno;
  std::unique_ptr<TokenFile> file(
      new TokenFile(path, fd, bytes, data == MAP_FAILED ? nullptr : static_cast<const uint8_t*>(data)));
  if (!regular) return Status(Code::kInvalidArgument, path + " is not a regular file");
  if (data == MAP_FAILED) return ErrnoStatus(error, path + ": mmap");
  if (bytes == 0) return file->BrokenAt(0, "is empty");
  bool npy = path.ends_with(".npy");
  GT_RETURN_IF_ERROR(npy ? file->ReadNpyHeader() : file->ReadBinHeader(token_bytes));
  return file;
}

Status TokenFile::BrokenAt(int64_t offset, const std::string& what) const {
  return Status(Code::kDataLoss, path_ + " " + what + ", at offset " + std::to_string(offset));
}

Status TokenFile::ReadBinHeader(int token_bytes) {
  width_ = token_bytes;
  count_ = bytes_ / width_;
  if (bytes_ % width_ != 0) return BrokenAt(count_ * width_, "ends in the middle of a token");
  return OkStatus();
}

Status TokenFile::ReadNpyHeader() {
  auto missing = [&](int64_t wanted) {
    return BrokenAt(bytes_, "ends too early: " + std::to_string(wanted - bytes_) + " bytes are missing");
  };
  if (bytes_ < 10) return missing(10);
  if (std::memcmp(data_, kNpyMagic.data(), kNpyMagic.size()) != 0)
    return BrokenAt(0, "is not a NumPy file (bad magic)");
  int version = data_[6];
  if (version < 1 || version > 3) return BrokenAt(6, "is of version " + std::to_string(version) + " of NumPy's format");
  int64_t at = version == 1 ? 10 : 12, length = data_[8] | int64_t{data_[9]} << 8;
  if (version > 1) {
    if (bytes_ < at) return missing(at);
    length |= int64_t{data_[10]} << 16 | int64_t{data_[11]} << 24;
  }
  if (length > kMostHeaderBytes) return BrokenAt(8, "promises an impossible header");
  start_ = at + length;
  if (bytes_ < start_) return missing(start_);
  GT_RETURN_IF_ERROR(
      ReadNpyDescription(std::string(reinterpret_cast<const char*>(data_) + at, static_cast<size_t>(length))));
  if (count_ > (bytes_ - start_) / width_)
    return BrokenAt(bytes_, "ends too early: of " + std::to_string(count_) + " tokens it holds " +
                                std::to_string((bytes_ - start_) / width_));
  if (start_ + count_ * width_ != bytes_) return BrokenAt(start_ + count_ * width_, "has bytes after its last token");
  return OkStatus();
}

Status TokenFile::ReadNpyDescription(const std::string& text) {
  std::string_view type = ValueOf(text, "descr").substr(0, 5), shape = ValueOf(text, "shape");
  for (const auto& [name, width] : {std::pair{"'|u1'", 1}, {"'<u2'", 2}, {"'<u4'", 4}, {"'<i4'", 4}, {"'<i8'", 8}})
    if (type == name) width_ = width;
  if (width_ == 0) return BrokenAt(10, "does not hold little-endian integers");
  if (shape.empty() || shape[0] != '(') return BrokenAt(10, "has no shape");
  auto [end, error] = std::from_chars(shape.data() + 1, shape.data() + shape.size(), count_);
  std::string_view rest(end, static_cast<size_t>(shape.data() + shape.size() - end));
  if (error != std::errc() || count_ < 0 || !(rest.starts_with(",)") || rest.starts_with(")")))
    return BrokenAt(10, "is not of one dimension");
  return OkStatus();
}

uint64_t TokenFile::At(int64_t index) const {
  uint64_t token = 0;  // the machine is little-endian, as the file is
  std::memcpy(&token, data_ + start_ + index * width_, static_cast<size_t>(width_));
  return token;
}

Status TokenFile::Copy(int64_t first, int64_t count, int64_t vocabulary, int64_t* out) const {
  GT_ASSERT(first >= 0 && count >= 0 && first + count <= count_);
  for (int64_t i = 0; i < count; ++i) {
    uint64_t token = At(first + i);
    if (token >= static_cast<uint64_t>(vocabulary)) {
      return BrokenAt(start_ + (first + i) * width_, "has the token " + std::to_string(token) +
                                                         ", beyond a model.vocabulary of " +
                                                         std::to_string(vocabulary));
    }
    out[i] = static_cast<int64_t>(token);
  }
  return OkStatus();
}

Status TokenFile::CheckLength() const {
  struct stat info {};
  if (fstat(fd_, &info) != 0) return ErrnoStatus(errno, path_);
  if (info.st_size >= bytes_) return OkStatus();
  return BrokenAt(info.st_size, "was cut short while it was in use");
}

}  // namespace gt::trainer
