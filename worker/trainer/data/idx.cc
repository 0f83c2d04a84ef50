#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "worker/trainer/data/formats.h"
#include "worker/trainer/data/idx_file.h"

namespace gt::trainer {
namespace {

constexpr int64_t kClasses = 10;
// Mean and deviation of MNIST's training pixels, the usual normalisation.
constexpr float kMean = 0.1307f, kDeviation = 0.3081f;
constexpr int64_t kTestStride = 10;

struct Pair {
  IdxFile images, labels;
  int64_t size() const { return images.dims[0]; }
};

// Every sample of a pair, or every one whose index is (or is not) the last of ten.
class IdxDataset : public Dataset {
 public:
  enum class Part { kAll, kTrain, kTest };
  IdxDataset(std::shared_ptr<const Pair> pair, Part part) : pair_(std::move(pair)), part_(part) {
    for (size_t i = 0; i < table_.size(); ++i) table_[i] = (static_cast<float>(i) / 255.0f - kMean) / kDeviation;
  }
  int64_t size() const override {
    int64_t test = pair_->size() / kTestStride;
    return part_ == Part::kAll ? pair_->size() : part_ == Part::kTest ? test : pair_->size() - test;
  }
  SampleShape shape() const override { return {1, pair_->images.dims[1], pair_->images.dims[2]}; }
  int64_t classes() const override { return kClasses; }
  Status Read(std::span<const int64_t> indices, const SampleMemory& to) const override {
    int64_t numel = shape().numel();
    float* inputs = to.values;
    int64_t* labels = to.labels;
    for (int64_t index : indices) {
      int64_t row = RowOf(index);
      const uint8_t* pixels = pair_->images.bytes.data() + row * numel;
      for (int64_t i = 0; i < numel; ++i) inputs[i] = table_[pixels[i]];
      inputs += numel;
      *labels++ = pair_->labels.bytes[static_cast<size_t>(row)];
    }
    return OkStatus();
  }

 private:
  int64_t RowOf(int64_t index) const {
    if (part_ == Part::kAll) return index;
    if (part_ == Part::kTest) return index * kTestStride + kTestStride - 1;
    return index + index / (kTestStride - 1);
  }
  std::shared_ptr<const Pair> pair_;
  Part part_;
  std::array<float, 256> table_;
};

Result<std::shared_ptr<const Pair>> ReadPair(const std::string& folder, const std::string& prefix) {
  std::string images_path = folder + "/" + prefix + "-images-idx3-ubyte";
  std::string labels_path = folder + "/" + prefix + "-labels-idx1-ubyte";
  auto pair = std::make_shared<Pair>();
  GT_ASSIGN_OR_RETURN(pair->images, ReadIdx(images_path, 3));
  GT_ASSIGN_OR_RETURN(pair->labels, ReadIdx(labels_path, 1));
  if (pair->labels.dims[0] != pair->size()) {
    return Status(Code::kDataLoss, labels_path + " has " + std::to_string(pair->labels.dims[0]) + " labels for " +
                                       std::to_string(pair->size()) + " images, at offset 4");
  }
  const std::vector<uint8_t>& labels = pair->labels.bytes;
  auto bad = std::find_if(labels.begin(), labels.end(), [](uint8_t label) { return label >= kClasses; });
  if (bad != labels.end()) {
    return Status(Code::kDataLoss, labels_path + " has the label " + std::to_string(*bad) + ", at offset " +
                                       std::to_string(8 + (bad - labels.begin())));
  }
  return std::shared_ptr<const Pair>(std::move(pair));
}

}  // namespace

Result<DataSets> OpenIdx(const Spec& job) {
  const DataSpec& spec = job.data;
  if (spec.path.empty()) return Status(Code::kInvalidArgument, "data.path is missing: the folder with the IDX files");
  Result<std::shared_ptr<const Pair>> train = ReadPair(spec.path, "train");
  Result<std::shared_ptr<const Pair>> test = ReadPair(spec.path, "t10k");
  // A set that is there but broken is an error; one that is not there is not.
  for (const auto* pair : {&train, &test})
    if (!pair->ok() && pair->status().code() != Code::kNotFound) return pair->status();
  if (!train.ok() && !test.ok()) return train.status().WithContext("no IDX data");

  DataSets sets;
  using Part = IdxDataset::Part;
  if (train.ok() && test.ok()) {
    sets.train = std::make_unique<IdxDataset>(*train, Part::kAll);
    sets.test = std::make_unique<IdxDataset>(*test, Part::kAll);
    if (sets.train->shape().numel() != sets.test->shape().numel())
      return Status(Code::kDataLoss, spec.path + ": training and test images differ in size, at offset 8");
  } else {
    const std::shared_ptr<const Pair>& only = train.ok() ? *train : *test;
    sets.train = std::make_unique<IdxDataset>(only, Part::kTrain);
    if (only->size() >= kTestStride) sets.test = std::make_unique<IdxDataset>(only, Part::kTest);
  }
  return sets;
}

}  // namespace gt::trainer
