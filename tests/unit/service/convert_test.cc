// From the wire to the model and back; what is out of range never gets in.
#include "coordinator/service/convert.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace gt {
namespace {

wire::SubmitRequest::One ACommand() {
  wire::SubmitRequest::One one;
  one.set_client_key("a-key-of-16-bytes");
  one.mutable_spec()->set_name("j");
  one.mutable_spec()->mutable_run()->add_command("/bin/true");
  return one;
}

wire::SubmitRequest::One ATraining() {
  wire::SubmitRequest::One one;
  one.set_client_key("a-key-of-16-bytes");
  wire::TrainSpec* train = one.mutable_spec()->mutable_train();
  train->mutable_model()->set_name("simple_cnn");
  train->mutable_data()->set_path("/data/mnist");
  return one;
}

wire::NodeReport AHello() {
  wire::NodeReport report;
  report.set_seq(1);
  report.mutable_hello()->set_node_name("n");
  report.mutable_hello()->mutable_node_uid()->set_low(5);
  report.mutable_inventory()->set_cpus(4);
  return report;
}

TEST(ConvertJobTest, ADraftHasTheShapeOfTheSpec) {
  wire::SubmitRequest::One one = ACommand();
  one.mutable_spec()->set_array("3-9");
  wire::ResourceSpec* resources = one.mutable_spec()->mutable_resources();
  resources->mutable_nodes()->set_count(2);
  resources->set_gpus_per_node(4);
  resources->set_cpus_per_process(3);
  resources->mutable_gpu()->add_model("H100");
  ASSERT_EQ(CheckSubmit(one), std::vector<std::string>{});
  Job job = ConvertJob(one, "me\n", 77);
  EXPECT_EQ(job.shape.nodes, 2);
  EXPECT_EQ(job.shape.gpus, 4);
  EXPECT_EQ(job.shape.cpus, 12);
  EXPECT_EQ(job.shape.gpu_models, std::vector<std::string>{"h100"});
  EXPECT_TRUE(job.array);
  EXPECT_EQ(job.range.first, 3u);
  EXPECT_EQ(job.range.last, 9u);
  EXPECT_EQ(job.ranks_per_node, 4);
  EXPECT_FALSE(job.contract);
  EXPECT_EQ(job.retry.infra, 10);
  EXPECT_EQ(job.grace, 30 * kSecond);
  EXPECT_EQ(job.owner, "me\\n");
}

TEST(ConvertJobTest, ProblemsNameTheirFields) {
  wire::SubmitRequest::One one = ACommand();
  one.set_client_key("short");
  one.mutable_spec()->mutable_run()->clear_command();
  std::vector<std::string> problems = CheckSubmit(one);
  ASSERT_GE(problems.size(), 2u);
  EXPECT_TRUE(problems[0].starts_with("client_key: ")) << problems[0];
  EXPECT_TRUE(problems[1].starts_with("run.command")) << problems[1];
}

TEST(ConvertJobTest, ATrainJobLaunchesTheTrainerWithAllDefaults) {
  wire::SubmitRequest::One one = ATraining();
  one.mutable_spec()->mutable_train()->set_threads(2);
  one.mutable_spec()->mutable_train()->mutable_checkpoint()->set_dir("/ckpt");
  ASSERT_EQ(CheckSubmit(one), std::vector<std::string>{});
  Job job = ConvertJob(one, "me", 0);
  job.id = {5};
  EXPECT_TRUE(job.contract);
  Result<wire::JobLaunch> launch = ConvertLaunch(job, Policy());
  ASSERT_TRUE(launch.ok());
  EXPECT_EQ(launch->argv(0), "{trainer}");
  EXPECT_EQ(launch->argv(1), "{spec}");
  EXPECT_TRUE(launch->contract());
  EXPECT_EQ(launch->checkpoint_dir(), "/ckpt");
  EXPECT_EQ(launch->env().at("OMP_NUM_THREADS"), "2");
  auto spec = nlohmann::json::parse(launch->spec_json());
  EXPECT_EQ(spec["model"]["name"], "simple_cnn");
  EXPECT_EQ(spec["batch_size"], 64);
  EXPECT_EQ(spec["checkpoint"]["every"], 900000);
  EXPECT_EQ(spec["precision"], "fp32");
  EXPECT_FALSE(spec.contains("threads"));
  EXPECT_FALSE(spec["checkpoint"].contains("dir"));
}

TEST(ConvertJobTest, ACommandLaunchesAsItWasGiven) {
  wire::SubmitRequest::One one = ACommand();
  (*one.mutable_spec()->mutable_run()->mutable_env())["A"] = "1.0";
  one.mutable_spec()->mutable_run()->set_workdir("/w");
  one.mutable_spec()->set_time_limit(60'000);
  Job job = ConvertJob(one, "me", 0);
  wire::JobLaunch launch = *ConvertLaunch(job, Policy());
  EXPECT_EQ(launch.argv(0), "/bin/true");
  EXPECT_EQ(launch.env().at("A"), "1.0");
  EXPECT_EQ(launch.workdir(), "/w");
  EXPECT_EQ(launch.time_limit_ms(), 60'000);
  EXPECT_EQ(launch.memory_limit(), 0);
  EXPECT_EQ(launch.spec_json(), "");
}

TEST(ConvertJobTest, ADamagedSpecIsAnErrorAndNotACrash) {
  Job job;
  job.spec = "\xff\xff\xff";
  EXPECT_EQ(ConvertLaunch(job, Policy()).status().code(), Code::kDataLoss);
}

TEST(ConvertWorkerTest, HelloCarriesTheInventory) {
  Result<NodeHello> hello = ConvertHello(AHello(), 9);
  ASSERT_TRUE(hello.ok());
  EXPECT_EQ(hello->session, 9u);
  EXPECT_EQ(hello->name, "n");
  EXPECT_EQ(hello->inventory.cpus, 4);
}

TEST(ConvertWorkerTest, RefusesWhatNoWorkerSays) {
  wire::NodeReport no_uid = AHello();
  no_uid.mutable_hello()->clear_node_uid();
  EXPECT_FALSE(ConvertHello(no_uid, 1).ok());
  wire::NodeReport odd_name = AHello();
  odd_name.mutable_hello()->set_node_name("a\nb");
  EXPECT_FALSE(ConvertHello(odd_name, 1).ok());
  wire::NodeReport negative = AHello();
  negative.mutable_inventory()->set_cpus(-1);
  EXPECT_FALSE(ConvertHello(negative, 1).ok());
  wire::NodeReport twins = AHello();
  twins.mutable_inventory()->add_gpus()->set_uuid("GPU-1");
  twins.mutable_inventory()->add_gpus()->set_uuid("GPU-1");
  EXPECT_FALSE(ConvertHello(twins, 1).ok());
  wire::NodeReport nameless;
  nameless.add_attempts()->set_phase(wire::PHASE_RUNNING);
  EXPECT_FALSE(ConvertReport(nameless, 1, 0).ok());
  wire::NodeReport bad_port;
  bad_port.add_attempts()->mutable_uid()->set_low(1);
  bad_port.mutable_attempts(0)->set_endpoint_port(70'000);
  EXPECT_FALSE(ConvertReport(bad_port, 1, 0).ok());
}

TEST(ConvertWorkerTest, AnExitTellsTheFirstFailureAndTheHighestCode) {
  wire::NodeReport report;
  wire::AttemptReport* attempt = report.add_attempts();
  attempt->mutable_uid()->set_low(1);
  attempt->set_phase(wire::PHASE_ENDED);
  wire::ExitRecord* exit = attempt->mutable_exit();
  exit->set_why(wire::ExitRecord::RANK_FAILED);
  exit->set_first_failed(1);
  wire::RankExit* first = exit->add_ranks();
  first->set_rank(0);
  first->set_signal(15);
  wire::RankExit* second = exit->add_ranks();
  second->set_rank(1);
  second->set_code(3);
  second->set_tail("boom\n");
  Result<NodeReport> converted = ConvertReport(report, 1, 0);
  ASSERT_TRUE(converted.ok());
  const ExitReport& out = *converted->attempts[0].exit;
  EXPECT_EQ(out.why, ExitReport::Why::kRankFailed);
  EXPECT_EQ(out.first_failed, 1);
  EXPECT_EQ(out.code, 3);
  EXPECT_EQ(out.signal, 0);
  EXPECT_EQ(out.tail, "boom\n");
  EXPECT_EQ(out.exit_code, 143);
  EXPECT_EQ(ParseExit(out.record).ranks(1).tail(), "boom\n");
}

TEST(ConvertWorkerTest, AHugeExitRecordKeepsWhatTheFirstFailureSaid) {
  wire::NodeReport report;
  wire::AttemptReport* attempt = report.add_attempts();
  attempt->mutable_uid()->set_low(1);
  attempt->mutable_exit()->set_first_failed(700);
  for (uint32_t rank = 0; rank < 1000; rank++) {
    wire::RankExit* exit = attempt->mutable_exit()->add_ranks();
    exit->set_rank(rank);
    exit->set_tail(std::string(4096, 'x'));
  }
  ExitReport out = *ConvertReport(report, 1, 0)->attempts[0].exit;
  EXPECT_LE(out.record.size(), kMaxExitRecordBytes);
  wire::ExitRecord stored = ParseExit(out.record);
  EXPECT_EQ(stored.ranks_size(), 1000);
  EXPECT_EQ(stored.ranks(700).tail().size(), 4096u);
}

TEST(CleanTest, CutsBetweenCharactersAndEscapesControls) {
  EXPECT_EQ(Clean("a\x1b[31m", 100), "a\\e[31m");
  EXPECT_EQ(Clean("ää", 3), "ä");
  EXPECT_LE(Clean(std::string(100, '\xff'), 10).size(), 10u);
}

TEST(ConvertRowsTest, LastLinesOfAFailureAreSafeAndFew) {
  Attempt attempt;
  attempt.failure.cause = Cause::kExitNonzero;
  attempt.failure.rank = 2;
  for (int i = 0; i < 30; i++) attempt.failure.tail += "line " + std::to_string(i) + "\n";
  attempt.failure.tail += "bad \x1b[2J\n";
  wire::AttemptDetail detail;
  FillAttempt(attempt, {}, &detail);
  ASSERT_EQ(detail.first_failure().last_lines_size(), 20);
  EXPECT_EQ(detail.first_failure().last_lines(19), "bad \\e[2J");
  EXPECT_EQ(detail.first_failure().last_lines(18), "line 29");
}

}  // namespace
}  // namespace gt
