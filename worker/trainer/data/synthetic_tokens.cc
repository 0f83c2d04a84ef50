#include "common/base/rng.h"
#include "worker/trainer/data/formats.h"

namespace gt::trainer {
namespace {

// Made when it is read: sample `index` is a function of seed and index alone.
class SyntheticTokens : public Dataset {
 public:
  explicit SyntheticTokens(const Spec& spec)
      : size_(spec.data.samples), context_(spec.model.context), vocabulary_(spec.model.vocabulary), seed_(spec.seed) {}
  int64_t size() const override { return size_; }
  SampleShape shape() const override { return {.tokens = context_}; }
  int64_t classes() const override { return vocabulary_; }
  Status Read(std::span<const int64_t> indices, const SampleMemory& to) const override {
    int64_t* tokens = to.tokens;
    int64_t* labels = to.labels;
    for (int64_t index : indices) {
      Rng rng(seed_ * 0x9E3779B97F4A7C15ull + static_cast<uint64_t>(index));
      uint64_t token = rng.Below(static_cast<uint64_t>(vocabulary_));
      for (int64_t i = 0; i < context_; ++i) {
        *tokens++ = static_cast<int64_t>(token);
        token = Next(token, rng);
        *labels++ = static_cast<int64_t>(token);
      }
    }
    return OkStatus();
  }

 private:
  uint64_t Next(uint64_t token, Rng& rng) const {
    uint64_t vocabulary = static_cast<uint64_t>(vocabulary_);
    return rng.OneIn(8) ? rng.Below(vocabulary) : (token * 5 + 3) % vocabulary;
  }
  int64_t size_, context_, vocabulary_;
  uint64_t seed_;
};

}  // namespace

Result<DataSets> OpenSyntheticTokens(const Spec& spec) {
  DataSets sets;
  sets.train = std::make_unique<SyntheticTokens>(spec);
  return sets;
}

}  // namespace gt::trainer
