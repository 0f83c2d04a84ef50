#include "worker/trainer/data/idx_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <memory>

namespace gt::trainer {
namespace {

constexpr int64_t kMostBytes = int64_t{64} << 30;  // a larger promise is a corrupt header
constexpr size_t kChunkBytes = 1 << 20;

// zlib reads plain files as they are, so one reader serves both; offsets are those of the unpacked bytes.
class Reader {
 public:
  static Result<Reader> Open(const std::string& path) {
    for (const std::string& name : {path, path + ".gz"}) {
      int fd = open(name.c_str(), O_RDONLY | O_CLOEXEC);
      if (fd < 0 && errno == ENOENT) continue;
      if (fd < 0) return ErrnoStatus(errno, name);
      gzFile file = gzdopen(fd, "rb");
      if (file) return Reader(name, file);
      close(fd);
      return Status(Code::kResourceExhausted, name + ": zlib has no memory");
    }
    return Status(Code::kNotFound, "neither " + path + " nor " + path + ".gz exists");
  }

  // Appends exactly `count` bytes.
  Status Read(int64_t count, std::vector<uint8_t>* out) {
    for (int64_t left = count; left > 0;) {
      size_t old_size = out->size(), want = static_cast<size_t>(std::min<int64_t>(left, kChunkBytes));
      out->resize(old_size + want);
      int got = gzread(file_.get(), out->data() + old_size, static_cast<unsigned>(want));
      if (got > 0) offset_ += got;
      int code = Z_OK;
      const char* reason = gzerror(file_.get(), &code);
      if (got < 0) return Broken(code == Z_ERRNO ? "cannot be read" : std::string("is corrupt (") + reason + ")");
      if (got == 0 || code == Z_BUF_ERROR)
        return Broken("ends too early: " + std::to_string(left - got) + " bytes are missing");
      out->resize(old_size + static_cast<size_t>(got));
      left -= got;
    }
    return OkStatus();
  }
  Status ExpectEnd() {
    char byte;
    int got = gzread(file_.get(), &byte, 1);
    if (got > 0) return Broken("has bytes after its last sample");
    return got < 0 ? Broken("is corrupt (checksum)") : OkStatus();
  }
  Status Broken(const std::string& what) const { return BrokenAt(offset_, what); }
  Status BrokenAt(int64_t offset, const std::string& what) const {
    return Status(Code::kDataLoss, name_ + " " + what + ", at offset " + std::to_string(offset));
  }

 private:
  struct Close {
    void operator()(gzFile file) const { gzclose(file); }
  };
  Reader(std::string name, gzFile file) : name_(std::move(name)), file_(file) {}

  std::string name_;
  std::unique_ptr<gzFile_s, Close> file_;
  int64_t offset_ = 0;
};

uint32_t BigEndian(const uint8_t* p) {
  return uint32_t{p[0]} << 24 | uint32_t{p[1]} << 16 | uint32_t{p[2]} << 8 | p[3];
}

}  // namespace

Result<IdxFile> ReadIdx(const std::string& path, int rank) {
  GT_ASSIGN_OR_RETURN(Reader reader, Reader::Open(path));
  std::vector<uint8_t> header;
  GT_RETURN_IF_ERROR(reader.Read(4, &header));
  if (header[0] != 0 || header[1] != 0) return reader.BrokenAt(0, "is not an IDX file (bad magic)");
  if (header[2] != 0x08) return reader.BrokenAt(2, "does not hold unsigned bytes");
  if (header[3] != rank)
    return reader.BrokenAt(3, "has " + std::to_string(header[3]) + " dimensions, not " + std::to_string(rank));
  IdxFile file;
  int64_t total = 1;
  for (int i = 0; i < rank; ++i) {
    std::vector<uint8_t> dim;
    GT_RETURN_IF_ERROR(reader.Read(4, &dim));
    file.dims.push_back(BigEndian(dim.data()));
    if (file.dims.back() == 0) return reader.BrokenAt(4 + 4 * i, "has an empty dimension");
    if (total > kMostBytes / file.dims.back()) return reader.BrokenAt(4 + 4 * i, "promises an impossible size");
    total *= file.dims.back();
  }
  GT_RETURN_IF_ERROR(reader.Read(total, &file.bytes));
  GT_RETURN_IF_ERROR(reader.ExpectEnd());
  return file;
}

}  // namespace gt::trainer
