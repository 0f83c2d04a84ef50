#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "cli/args.h"
#include "common/os/file.h"
#include "common/text/access.h"
#include "tests/unit/cli/fake_jobs.h"

namespace gt {
namespace {

using namespace gridtrain::v1;
using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

TEST(CommandLine, HelpIsOnStandardOutputAndHasThreeExamplesForEveryCommand) {
  EXPECT_THAT(Gtctl()({"--help"}).out, HasSubstr("submit"));
  for (const CommandInfo& command : Commands()) {
    RunResult help = Gtctl()({command.name, "--help"});
    EXPECT_EQ(help.code, 0);
    EXPECT_THAT(help.err, IsEmpty());
    std::string examples = help.out.substr(std::min(help.out.find("Examples:\n"), help.out.size()));
    EXPECT_EQ(std::count(examples.begin(), examples.end(), '\n'), 4) << help.out;
    EXPECT_THAT(help.out, HasSubstr(std::string("Usage: gtctl ") + command.name));
  }
}

TEST(CommandLine, WrongUseIsExitTwoWithAHint) {
  for (const std::vector<std::string>& line :
       std::vector<std::vector<std::string>>{{},
                                             {"sumbit"},
                                             {"list", "--nope"},
                                             {"list", "--limit", "x"},
                                             {"status"},
                                             {"logs", "1", "2"},
                                             {"list", "-o", "xml"},
                                             {"list", "--", "x"},
                                             {"submit"},
                                             {"submit", "--"},
                                             {"submit", "a.yaml", "--", "x"},
                                             {"submit", "--timeout", "5", "--", "x"},
                                             {"submit", "--dry-run", "--wait", "--", "x"},
                                             {"submit", "--idempotency-key", "short", "--", "x"},
                                             {"completion", "tcsh"},
                                             {"nodes", "drain"},
                                             {"nodes", "explode", "x"},
                                             {"server", "stop"},
                                             {"logs", "1", "--tail", "0"},
                                             {"logs", "1", "--rank", "a"},
                                             {"logs", "1", "--attempt", "0"},
                                             {"list", "--state", "odd"},
                                             {"list", "--limit", "0"}}) {
    RunResult result = Gtctl()(line);
    EXPECT_EQ(result.code, 2) << testing::PrintToString(line) << result.err;
    EXPECT_THAT(result.out, IsEmpty());
    EXPECT_THAT(result.err, StartsWith("error: "));
  }
  EXPECT_EQ(Gtctl()({"sumbit"}).err,
            "error: no command \"sumbit\"; did you mean \"submit\"?\nhint: gtctl --help lists them\n");
}

TEST(CommandLine, WithJsonOutputErrorsAreAnObject) {
  RunResult result = Gtctl()({"list", "-o", "json"});
  EXPECT_EQ(result.code, 6);
  EXPECT_THAT(result.out, IsEmpty());
  json error = json::parse(result.err);
  EXPECT_EQ(error["schema_version"], 1);
  EXPECT_EQ(error["error"]["code"], "UNAVAILABLE");
  EXPECT_EQ(error["error"]["retryable"], true);
  EXPECT_THAT(error["error"]["hint"].get<std::string>(), HasSubstr("gt-coordinator"));
}

TEST(Coordinator, OneThatIsNotThereIsExitSixWithinTheTimeout) {
  Gtctl run;
  run.environment = {{"GTCTL_SERVER", "127.0.0.1:1"}, {"GTCTL_TOKEN", "x"}};
  auto begin = std::chrono::steady_clock::now();
  RunResult result = run({"list", "--timeout", "300ms"});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(3));
  EXPECT_EQ(result.code, 6);
  EXPECT_THAT(result.err, HasSubstr("cannot reach the coordinator at 127.0.0.1:1"));
  EXPECT_THAT(result.err, HasSubstr("hint: "));
}

TEST(Coordinator, AWrongTokenIsExitFour) {
  FakeJobs fake;
  Gtctl run = Against(fake);
  run.environment["GTCTL_TOKEN"] = "wrong";
  RunResult result = run({"list"});
  EXPECT_EQ(result.code, 4);
  EXPECT_THAT(result.err, HasSubstr("--access"));
}

TEST(Coordinator, IsFoundThroughTheAccessFileAndATokenGoesNowhereElse) {
  FakeJobs fake;
  char folder[] = "/tmp/gt-cli-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  std::string path = std::string(folder) + "/access";
  ASSERT_TRUE(WriteAccess(path, {fake.address(), FakeJobs::kToken, "c1", 1}).ok());
  Gtctl run;
  run.environment = {{"GT_ACCESS", path}};
  EXPECT_EQ(run({"list"}).code, 0);
  EXPECT_EQ(Gtctl()({"list", "--access", path}).code, 0);
  RunResult elsewhere = run({"list", "--server", "127.0.0.1:1"});
  EXPECT_EQ(elsewhere.code, 4);
  EXPECT_THAT(elsewhere.err, HasSubstr("no token for 127.0.0.1:1"));
  ::chmod(path.c_str(), 0644);
  EXPECT_EQ(run({"list"}).code, 4);
  ASSERT_TRUE(WriteFile(path, "the-token\n", 0600).ok());
  run.environment = {{"GTCTL_SERVER", fake.address()}, {"GTCTL_TOKEN_FILE", path}};
  EXPECT_EQ(run({"list"}).code, 0);
  ASSERT_TRUE(RemoveFile(path).ok());
  ::rmdir(folder);
}

TEST(List, ShowsJobsNewestFirstAndPagesToTheLimit) {
  FakeJobs fake;
  for (uint64_t id = 1; id <= 5; ++id) fake.AddJob(id, TASK_QUEUED).set_reason("waits");
  RunResult result = Against(fake)({"list", "--limit", "3"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, StartsWith("ID  NAME   STATE   REASON  NODES  GPUS"));
  EXPECT_LT(result.out.find("job-5"), result.out.find("job-3"));
  EXPECT_EQ(result.out.find("job-2"), std::string::npos);
  EXPECT_THAT(result.err, HasSubstr("shown 3"));
  EXPECT_EQ(Against(fake)({"list", "-q"}).out, "5\n4\n3\n2\n1\n");
  EXPECT_EQ(Against(fake)({"list", "-o", "name", "--limit", "1"}).out, "5\n");
}

TEST(List, FiltersGoToTheCoordinator) {
  FakeJobs fake;
  EXPECT_EQ(
      Against(fake)({"list", "--state", "failed", "--state", "QUEUED", "--user", "me", "--name", "a*", "--all"}).code,
      0);
  ASSERT_EQ(fake.lists.size(), 1u);
  EXPECT_EQ(fake.lists[0].states_size(), 2);
  EXPECT_EQ(fake.lists[0].owner(), "ada");
  EXPECT_EQ(fake.lists[0].name_glob(), "a*");
  EXPECT_TRUE(fake.lists[0].all());
}

TEST(List, JsonIsOneValueWithStringIdsAndNulls) {
  FakeJobs fake;
  fake.AddJob(7, TASK_ACTIVE).set_name("evil\x1b[31m\n\xff");
  RunResult result = Against(fake)({"list", "-o", "json"});
  json list = json::parse(result.out);
  EXPECT_EQ(list["schema_version"], 1);
  const json& job = list["jobs"][0];
  EXPECT_EQ(job["id"], "7");
  EXPECT_EQ(job["state"], "ACTIVE");
  EXPECT_EQ(job["submitted"], "1970-01-01T00:00:01.000Z");
  EXPECT_TRUE(job["ended"].is_null());
  EXPECT_TRUE(job["exit_code"].is_null());
  EXPECT_EQ(job["name"], "evil\\e[31m\\n\\xff");
  RunResult table = Against(fake)({"list"});
  EXPECT_EQ(table.out.find('\x1b'), std::string::npos);
}

TEST(Status, ShowsTheFirstFailureWithItsLastLines) {
  FakeJobs fake;
  fake.AddJob(42, TASK_FAILED).set_cause(CAUSE_EXIT_NONZERO);
  auto* attempt = fake.jobs[42].add_tasks()->add_attempts();
  attempt->set_number(1);
  attempt->set_phase(PHASE_ENDED);
  attempt->set_cause(CAUSE_EXIT_NONZERO);
  attempt->mutable_first_failure()->set_rank(3);
  attempt->mutable_first_failure()->set_node("gpu-7");
  attempt->mutable_first_failure()->set_code(1);
  attempt->mutable_first_failure()->add_last_lines("ValueError: \x1b[1mno");
  RunResult result = Against(fake)({"status", "42"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, HasSubstr("first failure: rank 3 on gpu-7, exit code 1\n  | ValueError: \\e[1mno\n"));
  json detail = json::parse(Against(fake)({"status", "42", "-o", "json"}).out)["jobs"][0];
  EXPECT_EQ(detail["task_list"][0]["attempts"][0]["first_failure"]["exit_code"], 1);
  EXPECT_EQ(detail["spec"]["grace"], 30);
  RunResult missing = Against(fake)({"status", "43"});
  EXPECT_EQ(missing.code, 3);
  EXPECT_THAT(missing.err, HasSubstr("hint: gtctl list --all"));
}

TEST(Selectors, RangesLastAndTasks) {
  FakeJobs fake;
  for (uint64_t id = 3; id <= 5; ++id) fake.AddJob(id, TASK_SUCCEEDED);
  EXPECT_EQ(Against(fake)({"status", "-q", "3-5", "4"}).out, "SUCCEEDED\nSUCCEEDED\nSUCCEEDED\n");
  EXPECT_EQ(Against(fake)({"status", "-o", "name", "@last"}).out, "5\n");
  EXPECT_EQ(fake.lists[0].owner(), "ada");
  EXPECT_EQ(Against(fake)({"status", "5_0", "-q"}).code, 0);
  for (const char* bad : {"5-3", "x", "4_", "1-99999", "-", "@first", "0x1"})
    EXPECT_EQ(Against(fake)({"status", bad}).code, 2) << bad;
}

TEST(Explain, SaysWhatIsWaitedFor) {
  FakeJobs fake;
  fake.AddJob(42, TASK_QUEUED);
  EXPECT_EQ(Against(fake)({"explain", "42"}).out,
            "job 42: waits for 2 GPUs\n  node a: 0 of 8 GPUs free, needs 2\n  3 queued tasks come before it\n");
  EXPECT_EQ(json::parse(Against(fake)({"explain", "42", "-o", "json"}).out)["ahead"], 3);
}

TEST(Cancel, AsksForSeveralJobsAndTellsWhatWasFinishedOrUnknown) {
  FakeJobs fake;
  fake.AddJob(1, TASK_ACTIVE);
  fake.AddJob(2, TASK_SUCCEEDED);
  RunResult one = Against(fake)({"cancel", "1", "--reason", "wrong"});
  EXPECT_EQ(one.code, 0);
  EXPECT_EQ(one.out, "cancelling job 1\n");
  EXPECT_EQ(fake.cancels[0].reason(), "wrong");
  EXPECT_EQ(fake.cancels[0].actor(), "ada");
  RunResult finished = Against(fake)({"cancel", "2"});
  EXPECT_EQ(finished.code, 0);
  EXPECT_THAT(finished.err, HasSubstr("had ended already"));
  EXPECT_EQ(Against(fake)({"cancel", "9"}).code, 3);
  size_t before = fake.cancels.size();
  EXPECT_EQ(Against(fake)({"cancel", "1-2"}).code, 2);
  Gtctl person = Against(fake);
  person.terminal = true;
  person.input = "n";
  EXPECT_EQ(person({"cancel", "1-2"}).code, 1);
  EXPECT_EQ(fake.cancels.size(), before);
  person.input = "y";
  EXPECT_EQ(person({"cancel", "1-2"}).code, 0);
  EXPECT_EQ(Against(fake)({"cancel", "1-2", "-y"}).code, 0);
}

TEST(Nodes, AreListedAndDrainedWithAReason) {
  FakeJobs fake;
  EXPECT_THAT(Against(fake)({"nodes"}).out, HasSubstr("gpu-7  UP      6/8"));
  EXPECT_EQ(Against(fake)({"nodes", "list", "-q"}).out, "gpu-7\n");
  EXPECT_EQ(Against(fake)({"nodes", "drain", "gpu-7"}).code, 2);
  EXPECT_EQ(Against(fake)({"nodes", "drain", "gpu-7", "--reason", "disk"}).code, 0);
  EXPECT_EQ(fake.drains[0].reason(), "disk");
  EXPECT_TRUE(fake.drains[0].drain());
  EXPECT_EQ(Against(fake)({"nodes", "undrain", "gpu-7"}).code, 0);
  EXPECT_FALSE(fake.drains[1].drain());
  EXPECT_EQ(Against(fake)({"nodes", "undrain", "nope"}).code, 3);
}

TEST(Version, OfBothSidesAndWithoutACoordinator) {
  FakeJobs fake;
  EXPECT_THAT(Against(fake)({"version"}).out, HasSubstr("coordinator 9.9.9, protocol 1"));
  EXPECT_THAT(Gtctl()({"version", "--client"}).out, StartsWith("gtctl "));
  EXPECT_EQ(Gtctl()({"version"}).code, 6);
  EXPECT_THAT(Against(fake)({"server", "status"}).out, HasSubstr("cluster     c1\n"));
}

TEST(Completion, KnowsEveryCommandAndOption) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    RunResult result = Gtctl()({"completion", shell});
    EXPECT_EQ(result.code, 0);
    EXPECT_THAT(result.out, HasSubstr("explain"));
    EXPECT_THAT(result.out, HasSubstr("gpus-per-node"));
  }
}

}  // namespace
}  // namespace gt
