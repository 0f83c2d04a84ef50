#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "worker/trainer/data/formats.h"
#include "worker/trainer/data/host_batch.h"
#include "worker/trainer/data/token_file.h"

namespace gt::trainer {
namespace {

namespace fs = std::filesystem;

template <typename T>
std::string Raw(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

// As numpy.save writes it.
std::string Npy(const std::string& type, const std::string& shape, const std::string& data) {
  std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
  header += std::string(63 - (10 + header.size()) % 64, ' ') + "\n";
  std::string length{static_cast<char>(header.size() & 0xFF), static_cast<char>(header.size() >> 8)};
  return std::string("\x93NUMPY\x01\x00", 8) + length + header + data;
}

class TokensTest : public testing::Test {
 protected:
  TokensTest() {
    char name[] = "/tmp/gt_tokens_XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~TokensTest() override { fs::remove_all(folder_); }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  void Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(Path(name), std::ios::binary) << bytes;
  }
  Spec SpecFor(const std::string& path, const std::string& type = "uint16") const {
    Spec spec;
    spec.model = {.name = "gpt", .context = 4, .vocabulary = 100};
    spec.data = {.format = "tokens", .path = path, .token_type = type};
    return spec;
  }
  std::string ErrorOf(const std::string& name, const std::string& bytes) const {
    Write(name, bytes);
    return OpenTokens(SpecFor(Path(name))).status().message();
  }
  std::string folder_;
};

void ExpectSamples(const Dataset& set, int64_t offset) {
  HostBatch batch;
  std::vector<int64_t> indices{1, 0};
  ASSERT_TRUE(batch.Read(set, indices).ok());
  const int64_t* tokens = batch.memory().tokens;
  const int64_t* labels = batch.memory().labels;
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(tokens[i], offset + 4 + i);
    EXPECT_EQ(labels[i], offset + 5 + i);
    EXPECT_EQ(tokens[4 + i], offset + i);
    EXPECT_EQ(labels[4 + i], offset + 1 + i);
  }
}

TEST_F(TokensTest, ReadsEachTypeOfNumber) {
  Write("a.bin", Raw<uint16_t>({0, 1, 2, 3, 4, 5, 6, 7, 8}));
  Write("b.bin", Raw<uint32_t>({0, 1, 2, 3, 4, 5, 6, 7, 8}));
  Write("c.npy", Npy("<u2", "(9,)", Raw<uint16_t>({0, 1, 2, 3, 4, 5, 6, 7, 8})));
  Write("d.npy", Npy("<i8", "(9,)", Raw<int64_t>({0, 1, 2, 3, 4, 5, 6, 7, 8})));
  Write("e.npy", Npy("|u1", "(9,)", Raw<uint8_t>({0, 1, 2, 3, 4, 5, 6, 7, 8})));
  for (const char* name : {"a.bin", "b.bin", "c.npy", "d.npy", "e.npy"}) {
    Result<DataSets> sets = OpenTokens(SpecFor(Path(name), name[0] == 'b' ? "uint32" : "uint16"));
    ASSERT_TRUE(sets.ok()) << name << ": " << sets.status().message();
    EXPECT_EQ(sets->train->size(), 2);  // a sample's last label is the next one's first token
    EXPECT_EQ(sets->train->classes(), 100);
    ExpectSamples(*sets->train, 0);
    EXPECT_FALSE(sets->test);
  }
}

TEST_F(TokensTest, AFolderHasATrainingAndPerhapsATestSet) {
  Write("train.npy", Npy("<u4", "(9,)", Raw<uint32_t>({10, 11, 12, 13, 14, 15, 16, 17, 18})));
  ASSERT_TRUE(OpenTokens(SpecFor(folder_)).ok());
  EXPECT_FALSE(OpenTokens(SpecFor(folder_))->test);
  Write("val.bin", Raw<uint16_t>({20, 21, 22, 23, 24, 25, 26, 27, 28, 29}));
  Result<DataSets> sets = OpenTokens(SpecFor(folder_));
  ASSERT_TRUE(sets.ok());
  ExpectSamples(*sets->train, 10);
  ExpectSamples(*sets->test, 20);
  fs::remove(Path("train.npy"));
  EXPECT_NE(OpenTokens(SpecFor(folder_)).status().message().find("train.bin nor"), std::string::npos);
}

TEST_F(TokensTest, NamesFileAndOffsetOfWhatIsWrong) {
  std::string nine = Raw<uint16_t>({0, 1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(ErrorOf("f.bin", ""), Path("f.bin") + " is empty, at offset 0");
  EXPECT_EQ(ErrorOf("f.bin", nine + "x"), Path("f.bin") + " ends in the middle of a token, at offset 18");
  EXPECT_NE(ErrorOf("f.bin", nine.substr(0, 8)).find("has 4 tokens, but one sample takes 5"), std::string::npos);
  EXPECT_EQ(ErrorOf("f.npy", "PK\3\4......"), Path("f.npy") + " is not a NumPy file (bad magic), at offset 0");
  EXPECT_EQ(ErrorOf("f.npy", "\x93NUM"), Path("f.npy") + " ends too early: 6 bytes are missing, at offset 4");
  std::string good = Npy("<u2", "(9,)", nine);
  EXPECT_EQ(ErrorOf("f.npy", good), "");
  EXPECT_NE(ErrorOf("f.npy", good.substr(0, 40)).find("88 bytes are missing, at offset 40"), std::string::npos);
  EXPECT_EQ(ErrorOf("f.npy", good.substr(0, good.size() - 3)),
            Path("f.npy") + " ends too early: of 9 tokens it holds 7, at offset 143");
  EXPECT_EQ(ErrorOf("f.npy", good + "x"), Path("f.npy") + " has bytes after its last token, at offset 146");
  EXPECT_NE(ErrorOf("f.npy", Npy("<f4", "(9,)", nine)).find("little-endian integers"), std::string::npos);
  EXPECT_NE(ErrorOf("f.npy", Npy("<u2", "(3, 3)", nine)).find("one dimension"), std::string::npos);
  EXPECT_NE(ErrorOf("f.npy", Npy("<u2", "(9223372036854775807,)", nine)).find("it holds 9"), std::string::npos);
}

TEST_F(TokensTest, ATokenBeyondTheVocabularyIsNamedWhenItIsRead) {
  Write("t.bin", Raw<uint16_t>({0, 1, 2, 3, 4, 5, 100, 7, 8}));
  Result<DataSets> sets = OpenTokens(SpecFor(Path("t.bin")));
  ASSERT_TRUE(sets.ok());
  HostBatch batch;
  std::vector<int64_t> good{0}, bad{1};
  EXPECT_TRUE(batch.Read(*sets->train, good).ok());
  Status status = batch.Read(*sets->train, bad);
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_EQ(status.message(), Path("t.bin") + " has the token 100, beyond a model.vocabulary of 100, at offset 12");
}

TEST_F(TokensTest, AFileThatIsCutShortInUseIsAnErrorAndNotACrash) {
  Write("t.bin", Raw(std::vector<uint16_t>(100000, 5)));
  Result<DataSets> sets = OpenTokens(SpecFor(Path("t.bin")));
  ASSERT_TRUE(sets.ok());
  fs::resize_file(Path("t.bin"), 1000);
  HostBatch batch;
  std::vector<int64_t> last{24998};
  EXPECT_EQ(batch.Read(*sets->train, last).message(),
            Path("t.bin") + " was cut short while it was in use, at offset 1000");
}

TEST_F(TokensTest, SyntheticTextIsAFunctionOfSeedAndIndex) {
  Spec spec = SpecFor("");
  spec.data.samples = 50;
  auto tokens = [&](uint64_t seed, int64_t index) {
    spec.seed = seed;
    DataSets sets = OpenSyntheticTokens(spec).value();
    HostBatch batch;
    EXPECT_TRUE(batch.Read(*sets.train, std::vector<int64_t>{index}).ok());
    return std::vector<int64_t>(batch.memory().tokens, batch.memory().tokens + 4);
  };
  EXPECT_EQ(tokens(1, 7), tokens(1, 7));
  EXPECT_NE(tokens(1, 7), tokens(1, 8));
  EXPECT_NE(tokens(1, 7), tokens(2, 7));
}

}  // namespace
}  // namespace gt::trainer
