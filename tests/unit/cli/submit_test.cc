#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "common/os/file.h"
#include "tests/unit/cli/fake_jobs.h"

namespace gt {
namespace {

using namespace gridtrain::v1;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const JobSpec& Spec(const FakeJobs& fake) { return fake.submits.back().jobs(0).spec(); }

TEST(Submit, ACommandBecomesAJobAndQuietPrintsOnlyItsId) {
  FakeJobs fake;
  RunResult result =
      Against(fake)({"submit", "-q", "--nodes", "2", "--env", "A=b=c", "--time", "1h", "--", "echo", "-q", "--nodes"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "42\n");
  EXPECT_THAT(result.err, IsEmpty());
  EXPECT_THAT(Spec(fake).run().command(), ElementsAre("echo", "-q", "--nodes"));
  EXPECT_EQ(Spec(fake).run().env().at("A"), "b=c");
  EXPECT_EQ(Spec(fake).resources().nodes().count(), 2);
  EXPECT_EQ(Spec(fake).time_limit(), 3600000);
  EXPECT_FALSE(Spec(fake).run().has_workdir());
  EXPECT_EQ(fake.submits[0].owner(), "ada");
}

TEST(Submit, EveryFlagSetsItsField) {
  FakeJobs fake;
  RunResult result = Against(fake)({"submit",
                                    "-q",
                                    "--name",
                                    "n",
                                    "--gpus-per-node",
                                    "4",
                                    "--processes-per-node",
                                    "4",
                                    "--cpus",
                                    "3",
                                    "--memory",
                                    "2GiB",
                                    "--priority",
                                    "60",
                                    "--array",
                                    "0-3",
                                    "--workdir",
                                    "/w",
                                    "--retry-user",
                                    "1",
                                    "--retry-infra",
                                    "2",
                                    "--",
                                    "x"});
  ASSERT_EQ(result.code, 0) << result.err;
  const JobSpec& spec = Spec(fake);
  EXPECT_EQ(spec.name(), "n");
  EXPECT_EQ(spec.resources().gpus_per_node(), 4);
  EXPECT_EQ(spec.resources().processes_per_node(), 4);
  EXPECT_EQ(spec.resources().cpus_per_process(), 3);
  EXPECT_EQ(spec.resources().memory_per_node(), 2ll << 30);
  EXPECT_EQ(spec.priority(), 60);
  EXPECT_EQ(spec.array(), "0-3");
  EXPECT_EQ(spec.run().workdir(), "/w");
  EXPECT_EQ(spec.retry().user(), 1);
  EXPECT_EQ(spec.retry().infra(), 2);
}

TEST(Submit, WrongJobsAreRefusedHereWithFileAndLineAndNothingIsSent) {
  FakeJobs fake;
  Gtctl run = Against(fake);
  run.input = "nme: x\nrun:\n  command: [a]\npriority: 200\n";
  RunResult result = run({"submit", "-", "--set", "graze=3s"});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("standard input:1: nme: unknown key; did you mean \"name\"?\n"
                                    "--set graze: graze: unknown key; did you mean \"grace\"?\n"
                                    "standard input:4: priority: 200 is too large; the most is 100\n"));
  EXPECT_THAT(run({"submit", "--nodes", "0", "--", "x"}).err,
              HasSubstr("--nodes: resources.nodes.count: 0 is too small"));
  EXPECT_EQ(run({"submit", "--env", "A", "--", "x"}).code, 2);
  EXPECT_EQ(run({"submit", "/nonexistent.yaml"}).code, 2);
  EXPECT_THAT(fake.submits, IsEmpty());
}

TEST(Submit, PathsInAFileAreTakenFromItsFolder) {
  FakeJobs fake;
  char folder[] = "/tmp/gt-cli-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  std::string path = std::string(folder) + "/job.yaml";
  ASSERT_TRUE(WriteFile(path, "train: {model: {name: mlp}, data: {path: ../data}, checkpoint: {dir: c}}\n").ok());
  EXPECT_EQ(Against(fake)({"submit", "-f", path}).code, 0);
  EXPECT_EQ(Spec(fake).train().data().path(), "/tmp/data");
  EXPECT_EQ(Spec(fake).train().checkpoint().dir(), std::string(folder) + "/c");
  ASSERT_TRUE(WriteFile(path, "run: {command: [a], workdir: .}\n").ok());
  EXPECT_EQ(Against(fake)({"submit", path}).code, 0);
  EXPECT_EQ(Spec(fake).run().workdir(), std::string(folder) + "/");
  ASSERT_TRUE(WriteFile(path, "run: {command: [a], workdir: ~/x}\n").ok());
  EXPECT_THAT(Against(fake)({"submit", path}).err, HasSubstr("job.yaml:1: run.workdir: starts with ~"));
  ASSERT_TRUE(RemoveFile(path).ok());
  ::rmdir(folder);
}

TEST(Submit, ARestartOfTheCoordinatorIsRiddenOutWithOneKey) {
  FakeJobs fake;
  fake.unavailable = 2;
  EXPECT_EQ(Against(fake)({"submit", "-q", "--", "x"}).out, "42\n");
  ASSERT_EQ(fake.submits.size(), 3u);
  EXPECT_EQ(fake.submits[0].jobs(0).client_key(), fake.submits[2].jobs(0).client_key());
  EXPECT_GE(fake.submits[0].jobs(0).client_key().size(), 16u);
}

TEST(Submit, ALostAnswerMakesNoSecondJob) {
  FakeJobs fake;
  fake.lose_first_answer = true;
  RunResult result = Against(fake)({"submit", "--", "x"});
  EXPECT_EQ(result.out, "known already: job 42\n");
  EXPECT_EQ(fake.jobs.size(), 1u);
  EXPECT_EQ(Against(fake)({"submit", "-q", "--", "x"}).out, "43\n") << "another invocation is another job";
}

TEST(Submit, TheUsersOwnKeyIsSent) {
  FakeJobs fake;
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(Against(fake)({"submit", "-q", "--idempotency-key", "nightly-2026-03-01", "--", "x"}).out, "42\n");
  EXPECT_EQ(fake.submits[1].jobs(0).client_key(), "nightly-2026-03-01");
}

TEST(Submit, RefusalsAndWarningsOfTheCoordinatorAreShown) {
  FakeJobs fake;
  fake.warnings = {"no node could take it right now"};
  RunResult warned = Against(fake)({"submit", "--", "x"});
  EXPECT_EQ(warned.code, 0);
  EXPECT_EQ(warned.out, "submitted job 42\n");
  EXPECT_EQ(warned.err, "warning: no node could take it right now\n");
  fake.problems = {"resources.nodes: no fleet of 9 nodes\x1b[1m"};
  RunResult refused = Against(fake)({"submit", "--", "x"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("error: resources.nodes: no fleet of 9 nodes\\e[1m\n"));
}

TEST(Submit, ADryRunShowsEffectiveValuesAndMakesNoJob) {
  FakeJobs fake;
  RunResult result = Against(fake)({"submit", "--dry-run", "--nodes", "2", "--", "x"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, HasSubstr("    count: 2                            # --nodes\n"));
  EXPECT_THAT(result.out, HasSubstr("priority: 50                            # default\n"));
  EXPECT_TRUE(fake.submits[0].dry_run());
  EXPECT_TRUE(fake.jobs.empty());
  json spec = json::parse(Against(fake)({"submit", "--dry-run", "-o", "json", "--", "x"}).out)["job"]["spec"];
  EXPECT_EQ(spec["run"]["command"][0], "x");
}

TEST(Submit, JsonHasTheIdAsText) {
  FakeJobs fake;
  json answer = json::parse(Against(fake)({"submit", "-o", "json", "--", "x"}).out);
  EXPECT_EQ(answer["job"]["id"], "42");
  EXPECT_EQ(answer["job"]["duplicate"], false);
}

}  // namespace
}  // namespace gt
