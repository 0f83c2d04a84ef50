#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text/message_text.h"
#include "common/text/yaml_message.h"
#include "gridtrain/v1/config.pb.h"
#include "gridtrain/v1/job.pb.h"

namespace gt {
namespace {

using gridtrain::v1::CoordinatorConfig;
using gridtrain::v1::JobSpec;
using gridtrain::v1::WorkerConfig;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

template <typename Message = JobSpec>
std::vector<std::string> Problems(std::string_view text, Message* out = nullptr) {
  Message local;
  MessageReader reader(out ? out : &local);
  reader.ReadText(text, "job.yaml");
  reader.Finish();
  std::vector<std::string> lines;
  for (const TextProblem& problem : reader.problems()) lines.push_back(ToString(problem));
  return lines;
}

TEST(YamlMessage, AWholeJobFileIsRead) {
  JobSpec spec;
  EXPECT_THAT(Problems(R"(
name: mnist
resources:
  nodes: 2
  memory_per_node: 2GiB
  gpu: {model: [H100, A100], memory: 40GiB}
  gpus_per_node: 1
train:
  model: {name: simple_cnn}
  data: {format: idx, path: /data/mnist}
  optimizer: {name: adam, lr: 1e-3}
  precision: fp32
  checkpoint: {every: 15m, keep: 3}
retry: {user: 1, infra: 10}
time_limit: 1h30m
on_disconnect: continue
array: 0-15
)",
                       &spec),
              IsEmpty());
  EXPECT_EQ(spec.name(), "mnist");
  EXPECT_EQ(spec.resources().nodes().count(), 2);
  EXPECT_EQ(spec.resources().memory_per_node(), 2ll << 30);
  EXPECT_EQ(spec.resources().gpu().model(1), "A100");
  EXPECT_DOUBLE_EQ(spec.train().optimizer().lr(), 1e-3);
  EXPECT_EQ(spec.train().checkpoint().every(), 15 * 60 * 1000);
  EXPECT_EQ(spec.time_limit(), 90 * 60 * 1000);
  EXPECT_EQ(spec.on_disconnect().action(), gridtrain::v1::CONTINUE);
  EXPECT_EQ(spec.array(), "0-15");
}

TEST(YamlMessage, EverythingThatIsWrongIsToldAtOnceWithItsLine) {
  EXPECT_THAT(
      Problems("nme: x\nresources:\n  nodes: 0\n  gpus_per_node: two\npriority: 101\ntime_limit: 15\nrun: {}\n"),
      ElementsAre("job.yaml:1: nme: unknown key; did you mean \"name\"?",
                  "job.yaml:4: resources.gpus_per_node: expects a whole number, not \"two\"",
                  "job.yaml:6: time_limit: expects a duration, not \"15\"; for example 12h",
                  "job.yaml:3: resources.nodes.count: 0 is too small; the least is 1",
                  "job.yaml:7: run.command: is required; for example [python, train.py]",
                  "job.yaml:5: priority: 101 is too large; the most is 100"));
}

TEST(YamlMessage, AKeyInTheWrongPlaceIsSentToTheRightOne) {
  EXPECT_THAT(Problems("epochs: 3\n"),
              ElementsAre("job.yaml:1: epochs: unknown key; \"epochs\" belongs under \"train\""));
  EXPECT_THAT(Problems("run: {command: [a], priority: 3}"),
              ElementsAre("job.yaml:1: run.priority: unknown key; \"priority\" belongs at the top level"));
  EXPECT_THAT(Problems("zzzzzzzz: 3\n"), ElementsAre("job.yaml:1: zzzzzzzz: unknown key"));
}

TEST(YamlMessage, WhatIsNotBuiltYetIsRefusedAndNeverIgnored) {
  EXPECT_THAT(Problems("depends_on: [{job: 41}]"), ElementsAre("job.yaml:1: depends_on: is not supported yet"));
  EXPECT_THAT(Problems("resources: {nodes: {min: 2, max: 4}}"),
              ElementsAre("job.yaml:1: resources.nodes.min: is not supported yet",
                          "job.yaml:1: resources.nodes.max: is not supported yet"));
  EXPECT_THAT(Problems("run: {command: [a], container: {image: x}}"),
              ElementsAre("job.yaml:1: run.container: is not supported yet"));
  EXPECT_THAT(Problems("resources:\n  spot: required"),
              ElementsAre("job.yaml:2: resources.spot: \"required\" is not supported yet; use allowed"));
}

TEST(YamlMessage, NumbersAreStrict) {
  for (const char* bad :
       {"0x10", "010", "1_000", "+5", "5.0", "1e1", "\"5\"", "yes", "99999999999", "[5]", "{a: 5}", "~", ""})
    EXPECT_EQ(Problems("priority: " + std::string(bad)).size(), 1u) << bad;
  for (const char* bad : {"0x1p3", "inf", ".nan", "1e999", "\"0.1\"", "1,5", "+1"})
    EXPECT_EQ(
        Problems("train: {model: {name: mlp}, data: {path: /d}, optimizer: {lr: " + std::string(bad) + "}}").size(), 1u)
        << bad;
  EXPECT_THAT(Problems("priority: 010"),
              ElementsAre("job.yaml:1: priority: \"010\" has a leading zero; write it without"));
  EXPECT_THAT(Problems("train: {model: {name: mlp}, data: {path: /d}, seed: -1}"),
              ElementsAre("job.yaml:1: train.seed: \"-1\" is negative"));
}

TEST(YamlMessage, RangesAreToldInTheUnitOfTheField) {
  EXPECT_THAT(Problems("grace: 25h"), ElementsAre("job.yaml:1: grace: 1d1h is too large; the most is 1d"));
  EXPECT_THAT(Problems("resources: {memory_per_node: 5KiB}"),
              ElementsAre("job.yaml:1: resources.memory_per_node: 5KiB is too small; the least is 1MiB"));
  EXPECT_THAT(Problems("name: " + std::string(201, 'x')),
              ElementsAre("job.yaml:1: name: is 201 bytes long; at most 200 are allowed"));
}

TEST(YamlMessage, EnumsAreLowerCaseWithoutPrefix) {
  EXPECT_THAT(
      Problems("train: {model: {name: mlp}, data: {path: /d}, precision: fp33}"),
      ElementsAre(HasSubstr("train.precision: \"fp33\" is not one of its values; use fp32, bf16, fp16 or tf32 (did you mean \"fp32\"?)")));
  CoordinatorConfig config;
  EXPECT_THAT(Problems("log: {level: warn}", &config), IsEmpty());
  EXPECT_EQ(config.log().level(), gridtrain::v1::LOG_WARN);
  EXPECT_EQ(Problems<CoordinatorConfig>("log: {level: LOG_WARN}").size(), 1u);
}

TEST(YamlMessage, ScalarsInEnvAreTakenLiterally) {
  JobSpec spec;
  EXPECT_THAT(Problems(R"(run:
  command: [echo, yes, 1.0, ~, "null", 'a # b']
  env:
    A: yes
    B: 1.0
    C: 0x10
    D: ~
    E: null
    F:
    nullable: x
    G: "q: \u00fc"
    H: 007
)",
                       &spec),
              IsEmpty());
  EXPECT_THAT(spec.run().command(), ElementsAre("echo", "yes", "1.0", "~", "null", "a # b"));
  const auto& env = spec.run().env();
  EXPECT_EQ(env.at("A"), "yes");
  EXPECT_EQ(env.at("B"), "1.0");
  EXPECT_EQ(env.at("C"), "0x10");
  EXPECT_EQ(env.at("D"), "~");
  EXPECT_EQ(env.at("E"), "null");
  EXPECT_EQ(env.at("F"), "");
  EXPECT_EQ(env.at("nullable"), "x");
  EXPECT_EQ(env.at("G"), "q: ü");
  EXPECT_EQ(env.at("H"), "007");
  EXPECT_EQ(Problems("run: {command: [a], env: {A: [1]}}").size(), 1u);
  EXPECT_EQ(Problems("run: {command: [a], env: {A: {b: c}}}").size(), 1u);
}

TEST(YamlMessage, ContainersOfTheWrongKindAreRefused) {
  EXPECT_THAT(
      Problems("run: {command: python train.py}"),
      ElementsAre("job.yaml:1: run.command: expects a list, not a single value; for example [python, train.py]"));
  EXPECT_THAT(Problems("run: [a]"), ElementsAre("job.yaml:1: run: expects keys and values, not a list"));
  EXPECT_THAT(Problems("retry: 3"), ElementsAre("job.yaml:1: retry: expects keys and values, not a single value"));
  EXPECT_THAT(Problems("run: {command: [a], env: [A=b]}"),
              ElementsAre("job.yaml:1: run.env: expects keys and values, not a list"));
  EXPECT_THAT(Problems("- a\n- b"), ElementsAre("job.yaml:1: expects keys and values, not a list"));
  EXPECT_THAT(Problems("just text"), ElementsAre("job.yaml:1: expects keys and values, not a single value"));
  EXPECT_THAT(Problems("run: {command: [[a], ]}"), ElementsAre(HasSubstr("run.command[0]: expects text, not a list")));
}

TEST(YamlMessage, AKeyGivenTwiceIsRefused) {
  EXPECT_THAT(Problems("name: a\npriority: 1\nname: b\n"),
              ElementsAre("job.yaml:3: name: was given already in line 1"));
  EXPECT_THAT(Problems("run:\n  command: [a]\n  env:\n    A: 1\n    A: 2\n"),
              ElementsAre("job.yaml:5: run.env.A: was given already in line 4"));
}

TEST(YamlMessage, AnEmptyFileSetsNothing) {
  for (const char* text : {"", "\n\n", "# only a comment\n", "---\n", "\xEF\xBB\xBF"})
    EXPECT_THAT(Problems(text), IsEmpty()) << text;
}

TEST(YamlMessage, AnchorsStandForTheirValueButCannotExplode) {
  JobSpec spec;
  EXPECT_THAT(Problems("run:\n  command: &c [a, b]\n  env: {A: &x hello, B: *x}\n", &spec), IsEmpty());
  EXPECT_EQ(spec.run().env().at("B"), "hello");
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    std::string last = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last;
    for (int k = 0; k < 9; ++k) bomb += ", " + last;
    bomb += "]\n";
  }
  EXPECT_THAT(Problems(bomb), ElementsAre(HasSubstr("more than 200000 values")));
  EXPECT_THAT(Problems("a: &a [*a]"), ElementsAre(HasSubstr("an alias inside the node that it stands for")));
  EXPECT_THAT(Problems("a: *nowhere"), ElementsAre(HasSubstr("not valid YAML")));
  EXPECT_THAT(Problems("<<: {name: x}"), ElementsAre("job.yaml:1: <<: merge keys are not supported"));
}

TEST(YamlMessage, WhatIsNotOneDocumentOfPlainUtf8IsRefused) {
  EXPECT_THAT(Problems("name: a\n---\nname: b\n"), ElementsAre(HasSubstr("has more than one document")));
  EXPECT_THAT(Problems("name: a\nb: \xff\n"), ElementsAre("job.yaml:2: is not valid UTF-8"));
  EXPECT_THAT(Problems(std::string_view("name: a\n\0", 9)), ElementsAre("job.yaml:2: has a zero byte"));
  EXPECT_THAT(Problems(std::string((1 << 20) + 1, ' ')), ElementsAre("job.yaml: is larger than 1 MiB"));
  EXPECT_THAT(Problems("name: \"a"), ElementsAre(HasSubstr("is not valid YAML")));
  EXPECT_THAT(Problems("run:\n\tcommand: [a]\n"),
              ElementsAre("job.yaml:2: is indented by a tab; YAML allows only spaces"));
  EXPECT_THAT(Problems("? [a]\n: b"), ElementsAre("job.yaml:1: a key must be plain text"));
  EXPECT_THAT(Problems("name: !!binary aGk="), ElementsAre(HasSubstr("are not supported")));
  EXPECT_EQ(Problems(std::string(1000, '[') + std::string(1000, ']')).size(), 1u);
  EXPECT_EQ(Problems(std::string(200'000, '[')).size(), 1u);
  EXPECT_EQ(Problems(std::string(200'000, '{')).size(), 1u);
}

TEST(YamlMessage, KeysAreShownSafely) {
  EXPECT_THAT(Problems("\"a\\e[31m\": 1"), ElementsAre("job.yaml:1: a\\e[31m: unknown key"));
}

TEST(YamlMessage, SetOverlaysWhatTheFileSaid) {
  JobSpec spec;
  MessageReader reader(&spec);
  reader.ReadText("name: a\nresources: {nodes: 2}\nrun: {command: [a], env: {A: 1, B: 2}}\n", "job.yaml");
  for (const char* set :
       {"name=b: c", "resources.nodes=4", "run.env.B=3", "run.env.C.D=yes", "run.command=[x, \"y z\"]", "time_limit=2h",
        "on_disconnect={action: stop_after, stop_after: 10m}"})
    reader.Set(set);
  reader.Finish();
  EXPECT_EQ(reader.status().message(), "");
  EXPECT_EQ(spec.name(), "b: c");
  EXPECT_EQ(spec.resources().nodes().count(), 4);
  EXPECT_EQ(spec.run().env().at("A"), "1");
  EXPECT_EQ(spec.run().env().at("B"), "3");
  EXPECT_EQ(spec.run().env().at("C.D"), "yes");
  EXPECT_EQ(spec.run().env().size(), 3u);
  EXPECT_THAT(spec.run().command(), ElementsAre("x", "y z"));
  EXPECT_EQ(spec.time_limit(), 7200000);
  EXPECT_EQ(spec.on_disconnect().stop_after(), 600000);
  EXPECT_EQ(ToString(reader.origins().at("name")), "--set name");
  EXPECT_EQ(ToString(reader.origins().at("run.env.A")), "job.yaml:3");
}

TEST(YamlMessage, ProblemsOfSetNameIt) {
  JobSpec spec;
  MessageReader reader(&spec);
  for (const char* set : {"retry.user=x", "priority=101", "nme=a", "priority", "=3", "name.a=b", "depends_on=[]",
                          "run.command=[", "priority=\"5\""})
    reader.Set(set);
  reader.SetFlag("--nodes", "resources.nodes", "0");
  reader.Finish();
  std::vector<std::string> lines;
  for (const auto& problem : reader.problems()) lines.push_back(ToString(problem));
  EXPECT_THAT(lines, ElementsAre("--set retry.user: retry.user: expects a whole number, not \"x\"",
                                 "--set nme: nme: unknown key; did you mean \"name\"?",
                                 "--set priority: write --set key=value, for example --set priority=70",
                                 "--set =3: write --set key=value, for example --set priority=70",
                                 "--set name.a: name: has no keys below it",
                                 "--set depends_on: depends_on: is not supported yet",
                                 HasSubstr("--set run.command: run.command: "),
                                 "--set priority: priority: expects a whole number, not \"\"5\"\"",
                                 "--nodes: resources.nodes.count: 0 is too small; the least is 1"));
}

TEST(MessageText, YamlShowsEffectiveValuesAndWhereTheyCameFrom) {
  WorkerConfig config;
  MessageReader reader(&config);
  reader.ReadText(
      "node_name: \"n 1\"\nlabels: {zone: eu-1}\ngpus:\n  - {model: H100, count: 2, memory: 80GiB, fake: true}\n",
      "worker.yaml");
  reader.SetFlag("--log-level", "log.level", "debug");
  reader.Finish();
  ASSERT_EQ(reader.status().message(), "");
  std::string yaml = ToYaml(config, reader.origins());
  for (const char* line : {"node_name: \"n 1\"                        # worker.yaml:1\n", "# cpus: (not set)\n",
                           "  zone: eu-1                            # worker.yaml:2\n",
                           "    count: 2                            # worker.yaml:4\n",
                           "spool_cap: 10GiB                        # default\n",
                           "  level: debug                          # --log-level\n"})
    EXPECT_THAT(yaml, HasSubstr(line));
  WorkerConfig again;
  EXPECT_THAT(Problems(yaml, &again), IsEmpty());
  EXPECT_EQ(ToYaml(again, {}), ToYaml(config, {}));
}

TEST(MessageText, JsonFillsDefaultsAndLeavesOutTheOtherKindOfJob) {
  JobSpec spec;
  Problems("train: {model: {name: mlp}, data: {path: /d}}\ntime_limit: 1500ms\n", &spec);
  Json json = ToJson(spec);
  EXPECT_EQ(json["train"]["optimizer"]["lr"], 1e-3);
  EXPECT_EQ(json["train"]["precision"], "fp32");
  EXPECT_EQ(json["train"]["checkpoint"]["every"], 900000);
  EXPECT_EQ(json["resources"]["nodes"]["count"], 1);
  EXPECT_EQ(json["resources"]["spot"], "allowed");
  EXPECT_EQ(json["time_limit"], 1500);
  EXPECT_FALSE(json.contains("run"));
  EXPECT_FALSE(json.contains("name"));
  Json people = ToJson(spec, {.nulls = true, .seconds = true});
  EXPECT_EQ(people["time_limit"], 1.5);
  EXPECT_EQ(people["grace"], 30);
  EXPECT_TRUE(people["run"].is_null());
  EXPECT_TRUE(people["name"].is_null());
  EXPECT_EQ(Dump(ToJson(JobSpec(), {.defaults = false})), "{}");
}

}  // namespace
}  // namespace gt
