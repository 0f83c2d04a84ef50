#include <sys/stat.h>

#include "worker/trainer/data/formats.h"
#include "worker/trainer/data/token_file.h"

namespace gt::trainer {
namespace {

constexpr int64_t kPrefetch = 2;  // a page that is not in memory yet is worth a thread's wait

class TokenDataset : public Dataset {
 public:
  TokenDataset(std::unique_ptr<TokenFile> file, int64_t context, int64_t vocabulary)
      : file_(std::move(file)), context_(context), vocabulary_(vocabulary) {}
  int64_t size() const override { return (file_->size() - 1) / context_; }
  SampleShape shape() const override { return {.tokens = context_}; }
  int64_t classes() const override { return vocabulary_; }
  int64_t prefetch() const override { return kPrefetch; }
  Status Read(std::span<const int64_t> indices, const SampleMemory& to) const override {
    GT_RETURN_IF_ERROR(file_->CheckLength());
    int64_t* tokens = to.tokens;
    int64_t* labels = to.labels;
    for (int64_t index : indices) {
      GT_RETURN_IF_ERROR(file_->Copy(index * context_, context_, vocabulary_, tokens));
      GT_RETURN_IF_ERROR(file_->Copy(index * context_ + 1, context_, vocabulary_, labels));
      tokens += context_, labels += context_;
    }
    return OkStatus();
  }

 private:
  std::unique_ptr<TokenFile> file_;
  int64_t context_, vocabulary_;
};

Result<std::unique_ptr<Dataset>> OpenOne(const Spec& spec, const std::string& path) {
  GT_ASSIGN_OR_RETURN(std::unique_ptr<TokenFile> file, TokenFile::Open(path, spec.data.token_type == "uint32" ? 4 : 2));
  if (file->size() <= spec.model.context) {
    return file->BrokenAt(0, "has " + std::to_string(file->size()) + " tokens, but one sample takes " +
                                 std::to_string(spec.model.context + 1) + " (model.context and one)");
  }
  return std::unique_ptr<Dataset>(
      std::make_unique<TokenDataset>(std::move(file), spec.model.context, spec.model.vocabulary));
}

// The file `name`.bin or `name`.npy in the folder; null: neither exists.
Result<std::unique_ptr<Dataset>> OpenIn(const Spec& spec, const std::string& name) {
  for (const char* end : {".bin", ".npy"}) {
    Result<std::unique_ptr<Dataset>> set = OpenOne(spec, spec.data.path + "/" + name + end);
    if (set.ok() || set.status().code() != Code::kNotFound) return set;
  }
  return std::unique_ptr<Dataset>();
}

}  // namespace

Result<DataSets> OpenTokens(const Spec& spec) {
  const std::string& path = spec.data.path;
  if (path.empty()) return Status(Code::kInvalidArgument, "data.path is missing: a file or a folder of tokens");
  DataSets sets;
  struct stat info {};
  bool folder = stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
  if (!folder) {
    GT_ASSIGN_OR_RETURN(sets.train, OpenOne(spec, path));
    return sets;
  }
  GT_ASSIGN_OR_RETURN(sets.train, OpenIn(spec, "train"));
  if (!sets.train) return Status(Code::kNotFound, "neither " + path + "/train.bin nor " + path + "/train.npy exists");
  GT_ASSIGN_OR_RETURN(sets.test, OpenIn(spec, "val"));
  return sets;
}

}  // namespace gt::trainer
