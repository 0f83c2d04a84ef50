#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "worker/trainer/data/formats.h"
#include "worker/trainer/data/idx_file.h"

namespace gt::trainer {
namespace {

namespace fs = std::filesystem;

std::string BigEndian(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}
std::string Images(uint32_t count, uint32_t side, const std::string& pixels) {
  return std::string("\0\0\x08\x03", 4) + BigEndian(count) + BigEndian(side) + BigEndian(side) + pixels;
}
std::string Labels(uint32_t count, const std::string& labels) {
  return std::string("\0\0\x08\x01", 4) + BigEndian(count) + labels;
}

class IdxTest : public testing::Test {
 protected:
  IdxTest() {
    char name[] = "/tmp/gt_idx_XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~IdxTest() override { fs::remove_all(folder_); }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  void Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(Path(name), std::ios::binary) << bytes;
  }
  void WriteGzip(const std::string& name, const std::string& bytes) const {
    gzFile file = gzopen(Path(name).c_str(), "wb");
    ASSERT_EQ(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())), static_cast<int>(bytes.size()));
    gzclose(file);
  }
  // `count` images of 4 x 4 pixels, each filled with its index; its label is index % 10.
  void WritePair(const std::string& prefix, uint32_t count, bool gzip = false) const {
    std::string pixels, labels;
    for (uint32_t i = 0; i < count; ++i)
      pixels += std::string(16, static_cast<char>(i)), labels += static_cast<char>(i % 10);
    auto write = gzip ? &IdxTest::WriteGzip : &IdxTest::Write;
    std::string end = gzip ? ".gz" : "";
    (this->*write)(prefix + "-images-idx3-ubyte" + end, Images(count, 4, pixels));
    (this->*write)(prefix + "-labels-idx1-ubyte" + end, Labels(count, labels));
  }
  Result<DataSets> Open() const { return OpenIdx({.data = {.format = "idx", .path = folder_}}); }
  std::string ErrorOf(const std::string& bytes) const {
    Write("f", bytes);
    Result<IdxFile> file = ReadIdx(Path("f"), 3);
    return file.ok() ? "" : file.status().message();
  }
  std::string folder_;
};

TEST_F(IdxTest, ReadsPlainAndGzipAlike) {
  WritePair("train", 20);
  WritePair("t10k", 7, /*gzip=*/true);
  Result<DataSets> sets = Open();
  ASSERT_TRUE(sets.ok()) << sets.status().message();
  EXPECT_EQ(sets->train->size(), 20);
  EXPECT_EQ(sets->test->size(), 7);
  EXPECT_EQ(sets->train->shape().numel(), 16);
  std::vector<float> inputs(32);
  std::vector<int64_t> labels(2), indices{13, 0};
  ASSERT_TRUE(sets->train->Read(indices, {.values = inputs.data(), .labels = labels.data()}).ok());
  EXPECT_EQ(labels, (std::vector<int64_t>{3, 0}));
  EXPECT_FLOAT_EQ(inputs[0], (13 / 255.0f - 0.1307f) / 0.3081f);
  EXPECT_FLOAT_EQ(inputs[16], (0 - 0.1307f) / 0.3081f);
}

TEST_F(IdxTest, OnePairIsSplitByIndex) {
  WritePair("t10k", 45);
  Result<DataSets> sets = Open();
  ASSERT_TRUE(sets.ok()) << sets.status().message();
  EXPECT_EQ(sets->test->size(), 4);
  EXPECT_EQ(sets->train->size(), 41);
  std::vector<float> inputs(16);
  std::vector<int64_t> label(1);
  std::vector<int> seen(45, 0);
  auto mark = [&](const Dataset& set) {
    for (int64_t i = 0; i < set.size(); ++i) {
      ASSERT_TRUE(set.Read(std::span<const int64_t>(&i, 1), {.values = inputs.data(), .labels = label.data()}).ok());
      ++seen[static_cast<size_t>(std::lround((inputs[0] * 0.3081f + 0.1307f) * 255))];
    }
  };
  mark(*sets->test);
  EXPECT_EQ(seen[9] + seen[19] + seen[29] + seen[39], 4);
  mark(*sets->train);
  EXPECT_EQ(seen, std::vector<int>(45, 1));
}

TEST_F(IdxTest, NamesFileAndOffsetOfWhatIsWrong) {
  EXPECT_EQ(ErrorOf("PK"), Path("f") + " ends too early: 2 bytes are missing, at offset 2");
  EXPECT_EQ(ErrorOf("PKxx"), Path("f") + " is not an IDX file (bad magic), at offset 0");
  EXPECT_EQ(ErrorOf(std::string("\0\0\x09\x03", 4)), Path("f") + " does not hold unsigned bytes, at offset 2");
  EXPECT_EQ(ErrorOf(Labels(1, "x")), Path("f") + " has 1 dimensions, not 3, at offset 3");
  EXPECT_EQ(ErrorOf(Images(0, 4, "")), Path("f") + " has an empty dimension, at offset 4");
  EXPECT_EQ(ErrorOf(Images(2, 4, std::string(31, 'x'))),
            Path("f") + " ends too early: 1 bytes are missing, at offset 47");
  EXPECT_EQ(ErrorOf(Images(2, 4, std::string(33, 'x'))), Path("f") + " has bytes after its last sample, at offset 48");
  EXPECT_EQ(ErrorOf(Images(0xffffffff, 0xffff, "")), Path("f") + " promises an impossible size, at offset 8");
  EXPECT_EQ(ErrorOf(Images(1, 4, std::string(16, 'x'))), "");
}

TEST_F(IdxTest, TellsABrokenGzipFromAShortOne) {
  WritePair("train", 200, /*gzip=*/true);
  std::string name = Path("train-images-idx3-ubyte.gz");
  fs::resize_file(name, fs::file_size(name) / 2);
  Result<DataSets> sets = Open();
  ASSERT_FALSE(sets.ok());
  EXPECT_EQ(sets.status().code(), Code::kDataLoss);
  EXPECT_NE(sets.status().message().find(name), std::string::npos);
  EXPECT_NE(sets.status().message().find("offset"), std::string::npos);
}

TEST_F(IdxTest, RefusesPairsThatDoNotBelongTogether) {
  WritePair("train", 20);
  Write("train-labels-idx1-ubyte", Labels(19, std::string(19, '\1')));
  EXPECT_NE(Open().status().message().find("19 labels for 20 images"), std::string::npos);
  Write("train-labels-idx1-ubyte", Labels(20, std::string(19, '\1') + '\x0a'));
  EXPECT_NE(Open().status().message().find("label 10, at offset 27"), std::string::npos);
}

TEST_F(IdxTest, SaysWhatIsMissing) {
  Result<DataSets> sets = Open();
  ASSERT_FALSE(sets.ok());
  EXPECT_EQ(sets.status().code(), Code::kNotFound);
  EXPECT_NE(sets.status().message().find(Path("train-images-idx3-ubyte")), std::string::npos);
}

}  // namespace
}  // namespace gt::trainer
