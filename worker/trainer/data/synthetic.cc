#include <algorithm>
#include <vector>

#include "common/base/rng.h"
#include "worker/trainer/data/formats.h"

namespace gt::trainer {
namespace {

class SyntheticDataset : public Dataset {
 public:
  SyntheticDataset(int64_t size, uint64_t seed) : labels_(static_cast<size_t>(size)) {
    Rng rng(seed);
    pixels_.resize(static_cast<size_t>(size * shape().numel()));
    for (float& pixel : pixels_) pixel = static_cast<float>(rng.Unit());
    for (int64_t& label : labels_) label = static_cast<int64_t>(rng.Below(10));
  }
  int64_t size() const override { return static_cast<int64_t>(labels_.size()); }
  SampleShape shape() const override { return {1, 28, 28}; }
  int64_t classes() const override { return 10; }
  Status Read(std::span<const int64_t> indices, const SampleMemory& to) const override {
    int64_t numel = shape().numel();
    float* inputs = to.values;
    int64_t* labels = to.labels;
    for (int64_t index : indices) {
      inputs = std::copy_n(pixels_.data() + index * numel, numel, inputs);
      *labels++ = labels_[static_cast<size_t>(index)];
    }
    return OkStatus();
  }

 private:
  std::vector<float> pixels_;
  std::vector<int64_t> labels_;
};

}  // namespace

Result<DataSets> OpenSynthetic(const Spec& spec) {
  DataSets sets;
  sets.train = std::make_unique<SyntheticDataset>(spec.data.samples, spec.seed);
  return sets;
}

}  // namespace gt::trainer
