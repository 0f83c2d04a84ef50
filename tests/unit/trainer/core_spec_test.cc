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

TEST(Spec, ReadsEachPartOfATextTraining) {
  Result<Spec> spec = ParseSpec(R"({"model":{"name":"gpt","layers":2,"heads":4,"width":64,"context":32,"vocabulary":99,
    "dropout":0.1},"data":{"format":"tokens","path":"/d","token_type":"uint32","prefetch":3,"readers":2},
    "global_batch_size":1024,"activation_checkpointing":true,"on_nan":"skip","tensorboard":"/tb",
    "optimizer":{"name":"adamw","beta2":0.95,"clip_norm":1,"schedule":{"name":"cosine","warmup_samples":10,
    "min_lr":1e-5}},"checkpoint":{"keep_every":100,"keep_best":true}})");
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  EXPECT_EQ(spec->model.vocabulary, 99);
  EXPECT_EQ(spec->model.dropout, 0.1);
  EXPECT_EQ(spec->data.prefetch, 3);
  EXPECT_TRUE(spec->model.activation_checkpointing);
  EXPECT_EQ(spec->optimizer.schedule.warmup_samples, 10);
  EXPECT_EQ(spec->optimizer.beta2, 0.95);
  EXPECT_EQ(spec->checkpoint.keep_every, 100);
}

TEST(Spec, AGlobalBatchIsTheSameAtAnyNumberOfRanks) {
  Spec spec = *ParseSpec(With(R"("batch_size":8,"global_batch_size":96)"));
  EXPECT_EQ(SamplesPerStep(spec, 1), 96);
  EXPECT_EQ(SamplesPerStep(spec, 5), 96);
  spec = *ParseSpec(With(R"("batch_size":8,"accumulate":3)"));
  EXPECT_EQ(SamplesPerStep(spec, 1), 24);
  EXPECT_EQ(SamplesPerStep(spec, 5), 120);
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
  EXPECT_EQ(ErrorOf(With(R"("on_nan":"rollback")")), "on_nan 'rollback' is not supported; there are: stop, skip");
  EXPECT_EQ(ErrorOf(With(R"("accumulate":2,"global_batch_size":64)")),
            "accumulate follows from global_batch_size; leave one of them out");
  EXPECT_EQ(ErrorOf(With(R"("optimizer":{"beta1":1})")), "optimizer.beta1 must be below 1");
  EXPECT_EQ(ErrorOf(With(R"("optimizer":{"schedule":{"gama":1}})")),
            "unknown key optimizer.schedule.gama; did you mean optimizer.schedule.gamma?");
  EXPECT_EQ(ErrorOf(R"({"model":{"name":"m"},"data":{"token_type":"int8"}})"),
            "data.token_type must be uint16 or uint32");
  EXPECT_EQ(ErrorOf(With(R"("batch_size":18446744073709551615)")), "batch_size must be an integer of at least 1");
}

}  // namespace
}  // namespace gt::trainer
