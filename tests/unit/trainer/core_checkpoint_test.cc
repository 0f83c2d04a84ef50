#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "worker/trainer/checkpoint/format/manifest.h"
#include "worker/trainer/checkpoint/format/safetensors.h"
#include "worker/trainer/checkpoint/format/sha256.h"

namespace gt::trainer {
namespace {

namespace fs = std::filesystem;

std::string Digest(const std::string& text) {
  Sha256 sha256;
  sha256.Update(text.data(), text.size());
  return sha256.Hex();
}

TEST(Sha256, MatchesTheStandardsExamples) {
  EXPECT_EQ(Digest(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Digest("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Sha256, DoesNotDependOnHowItIsFed) {
  std::string text(1000, 'x');
  Sha256 pieces;
  for (size_t at = 0, step = 1; at < text.size(); at += step, step = step * 3 % 97 + 1)
    pieces.Update(text.data() + at, std::min(step, text.size() - at));
  EXPECT_EQ(pieces.Hex(), Digest(text));
}

class CheckpointFormat : public testing::Test {
 protected:
  CheckpointFormat() {
    char name[] = "/tmp/gt_ckpt_XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~CheckpointFormat() override { fs::remove_all(folder_); }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  void WriteText(const std::string& path, const std::string& text) const {
    std::ofstream(path, std::ios::binary) << text;
  }
  Result<FileDigest> WriteTwo(const std::string& name) const {
    return WriteSafetensors(
        folder_, name,
        {{"weight", {2, 3}, values_.data()}, {"bias", {2}, values_.data() + 6}, {"scalar", {}, values_.data()}});
  }
  std::vector<float> values_{1, -2, 3.5f, 0, -0.0f, 1e-40f, 7, 8};
  std::string folder_;
};

TEST_F(CheckpointFormat, SafetensorsComeBackBitByBit) {
  ASSERT_TRUE(WriteTwo("m").ok());
  auto tensors = ReadSafetensors(Path("m"));
  ASSERT_TRUE(tensors.ok()) << tensors.status().message();
  ASSERT_EQ(tensors->size(), 3u);
  EXPECT_EQ(tensors->at("weight").shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(0, std::memcmp(tensors->at("weight").values.data(), values_.data(), 24));
  EXPECT_EQ(tensors->at("bias").values, (std::vector<float>{7, 8}));
  EXPECT_TRUE(tensors->at("scalar").shape.empty());
}

TEST_F(CheckpointFormat, ATornFileIsRefusedAtEveryLength) {
  ASSERT_TRUE(WriteTwo("m").ok());
  auto size = static_cast<int64_t>(fs::file_size(Path("m")));
  for (int64_t length = size - 1; length >= 0; --length) {
    fs::resize_file(Path("m"), static_cast<uintmax_t>(length));
    auto tensors = ReadSafetensors(Path("m"));
    ASSERT_FALSE(tensors.ok()) << length;
    EXPECT_EQ(tensors.status().code(), Code::kDataLoss);
  }
}

TEST_F(CheckpointFormat, AHeaderThatLiesIsRefused) {
  auto error_of = [&](const std::string& header, size_t data_bytes) {
    uint64_t length = header.size();
    std::string file(reinterpret_cast<char*>(&length), 8);
    WriteText(Path("h"), file + header + std::string(data_bytes, 'x'));
    return ReadSafetensors(Path("h")).status().message();
  };
  EXPECT_NE(error_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 8).find("do not fit its shape"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 8).find("malformed shape"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"a":{"dtype":"F32","shape":[1099511627776,1099511627776],"data_offsets":[0,4]}})", 4)
                .find("malformed shape"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}})", 4).find("not F32"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 8).find("holds 8 bytes"),
            std::string::npos);
  for (const char* second : {"[0,8]", "[4,12]", "[12,20]"}) {  // on the first, half on it, with a hole before it
    std::string header = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],)";
    header += std::string(R"("data_offsets":)") + second + "}}";
    EXPECT_NE(error_of(header, 16).find(second[1] == '1' ? "torn" : "share out"), std::string::npos) << second;
  }
  EXPECT_NE(error_of("nonsense", 0).find("not JSON"), std::string::npos);
}

TEST_F(CheckpointFormat, TheManifestRoundTrips) {
  Manifest manifest{.attempt_uid = "ab",
                    .generation = 3,
                    .step = 120,
                    .cursor = {2, 640},
                    .samples = 15360,
                    .evaluated_epochs = 2,
                    .seed = ~uint64_t{0},
                    .model = "mlp",
                    .optimizer = "adam",
                    .files = {{"f", 12, "aa"}}};
  Result<Manifest> back = ParseManifest(EncodeManifest(manifest));
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back->cursor, manifest.cursor);
  EXPECT_EQ(back->seed, manifest.seed);
  EXPECT_EQ(back->files, manifest.files);
  EXPECT_EQ(back->generation, 3u);
  EXPECT_EQ(back->evaluated_epochs, 2);

  std::string text = EncodeManifest(manifest);
  text.replace(text.find("\"generation\": 3"), 15, "\"generation\": 4294967299");
  EXPECT_FALSE(ParseManifest(text).ok());  // not one of 32 bits
}

TEST_F(CheckpointFormat, AManifestIsBelievedOnlyWholeAndOnlyWithItsFiles) {
  Result<FileDigest> file = WriteTwo("model.safetensors");
  ASSERT_TRUE(file.ok());
  Manifest manifest{.attempt_uid = "ab", .step = 1, .model = "m", .optimizer = "o", .files = {*file}};
  std::string text = EncodeManifest(manifest);
  for (size_t length = 0; length + 2 < text.size(); length += 7)
    EXPECT_FALSE(ParseManifest(text.substr(0, length)).ok()) << length;

  WriteText(Path(kManifestName), text);
  EXPECT_TRUE(VerifyCheckpoint(folder_).ok());
  std::fstream stream(Path("model.safetensors"), std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(-1, std::ios::end);
  stream.put('!');  // one flipped byte at the end
  stream.close();
  EXPECT_EQ(VerifyCheckpoint(folder_).status().code(), Code::kDataLoss);
  fs::resize_file(Path("model.safetensors"), 10);
  EXPECT_NE(VerifyCheckpoint(folder_).status().message().find("has 10 bytes"), std::string::npos);
  fs::remove(Path("model.safetensors"));
  EXPECT_EQ(VerifyCheckpoint(folder_).status().code(), Code::kDataLoss);
}

TEST_F(CheckpointFormat, OnlyFoldersWithAManifestAreCheckpoints) {
  for (const char* name : {"step-20", "step-100", "step-3", ".tmp-step-200-1", "step-x", "step-7x"}) {
    fs::create_directories(Path(name));
    WriteText(Path(std::string(name) + "/" + kManifestName), "{}");
  }
  fs::create_directories(Path("step-500"));
  EXPECT_EQ(CompleteSteps(folder_), (std::vector<int64_t>{3, 20, 100}));
  EXPECT_TRUE(CompleteSteps(folder_ + "/nowhere").empty());
}

}  // namespace
}  // namespace gt::trainer
