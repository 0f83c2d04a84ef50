#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

#include "common/base/assert.h"
#include "tests/fuzz/fuzz.h"

namespace gt::fuzz {
namespace {

class Folder {
 public:
  Folder() {
    bool memory = access("/dev/shm", W_OK) == 0;
    path_ = (memory ? "/dev/shm" : std::filesystem::temp_directory_path().string()) + "/gt_fuzz_XXXXXX";
    GT_ASSERT(mkdtemp(path_.data()) != nullptr);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

const std::string& Scratch() {
  static Folder folder;
  return folder.path();
}

void ClearScratch() {
  for (const auto& entry : std::filesystem::directory_iterator(Scratch())) std::filesystem::remove_all(entry.path());
}

}  // namespace gt::fuzz
