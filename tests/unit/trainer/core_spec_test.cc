#include <gtest/gtest.h>

#include "worker/trainer/spec.h"

namespace gt::trainer {
namespace {

std::string ErrorOf(const std::string& json) {
  Result<Spec> spec = ParseSpec(json);
  return spec.ok() ? "" : spec.status().message();
}

constexpr char kBase[] = R"("model":{"name":"mlp"},"data":{"format":"idx","path":"/d"})";
std::string With(const std::string& rest) { return "{" + std::string(kBase) + "," + rest + "}"; }

TEST(Spec, ReadsWhatTheWorkerWrites) {
  Result<Spec> spec = ParseSpec(With(R"("batch_size":32,"epochs":3,"optimizer":{"name":"sgd","lr":0.1,"momentum":0.9},
    "precision":"fp32","accumulate":2,"seed":5,"checkpoint":{"every":900000,"keep":2},"log_every":10)"));
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  EXPECT_EQ(spec->batch_size, 32);
  EXPECT_EQ(spec->optimizer.momentum, 0.9);
  EXPECT_EQ(spec->checkpoint.every, 15 * kMinute);
  EXPECT_EQ(spec->accumulate, 2);
}

TEST(Spec, HasDefaults) {
  Result<Spec> spec = ParseSpec(With(R"("seed":1)"));
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(spec->batch_size, 64);
  EXPECT_EQ(spec->optimizer.name, "adam");
}

TEST(Spec, RefusesWithTheKeysPath) {
  EXPECT_EQ(ErrorOf("{"), "not valid JSON");
  EXPECT_EQ(ErrorOf("[]"), "the spec must be an object");
  EXPECT_EQ(ErrorOf(R"({"data":{}})"), "model is missing");
  EXPECT_EQ(ErrorOf(With(R"("epoch":3)")), "unknown key epoch; did you mean epochs?");
  EXPECT_EQ(ErrorOf(With(R"("optimizer":{"lrr":1})")), "unknown key optimizer.lrr; did you mean optimizer.lr?");
  EXPECT_EQ(ErrorOf(With(R"("batch_size":0)")), "batch_size must be an integer of at least 1");
  EXPECT_EQ(ErrorOf(With(R"("batch_size":"64")")), "batch_size must be an integer of at least 1");
  EXPECT_EQ(ErrorOf(With(R"("seed":-1)")), "seed must be an integer of at least 0");
  EXPECT_EQ(ErrorOf(With(R"("batch_size":18446744073709551615)")), "batch_size must be an integer of at least 1");
}

}  // namespace
}  // namespace gt::trainer
