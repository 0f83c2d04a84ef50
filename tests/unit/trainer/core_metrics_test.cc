#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "common/base/crc32c.h"
#include "worker/trainer/metrics/board.h"
#include "worker/trainer/metrics/events/wire.h"
#include "worker/trainer/metrics/step_metrics.h"

namespace gt::trainer {
namespace {

namespace fs = std::filesystem;

TEST(StepMetrics, SharesAndRatesAreThoseSinceTheRestart) {
  StepMetrics metrics;
  metrics.Add({.loss = 9, .samples = 1000, .step_us = 1, .data_wait_us = 1});
  metrics.Restart();
  metrics.Add({.loss = 2, .learning_rate = 0.1, .samples = 64, .step_us = 3000, .data_wait_us = 300});
  metrics.Add({.loss = 1, .learning_rate = 0.2, .samples = 64, .step_us = 5000, .communication_wait_us = 2000});
  auto values = metrics.Read();
  EXPECT_DOUBLE_EQ(values["loss"], 1);
  EXPECT_DOUBLE_EQ(values["learning_rate"], 0.2);
  EXPECT_DOUBLE_EQ(values["samples_per_second"], 128 / 0.008);
  EXPECT_DOUBLE_EQ(values["step_ms"], 4);
  EXPECT_DOUBLE_EQ(values["data_wait"], 300.0 / 8000);
  EXPECT_DOUBLE_EQ(values["communication_wait"], 0.25);
  EXPECT_GT(values["memory_bytes"], 1e6);
  EXPECT_GE(values["memory_peak_bytes"], values["memory_bytes"]);
  EXPECT_FALSE(values.contains("gradient_norm"));  // nobody measured it
  EXPECT_FALSE(values.contains("loss_scale"));
}

TEST(StepMetrics, KeepWhatIsNotMeasuredAtEachStepAndCountSkips) {
  StepMetrics metrics;
  metrics.Add({.step_us = 1, .gradient_norm = 3.5, .loss_scale = 1024, .skipped = true});
  metrics.Add({.step_us = 1, .loss_scale = 512});
  auto values = metrics.Read();
  EXPECT_DOUBLE_EQ(values["gradient_norm"], 3.5);
  EXPECT_DOUBLE_EQ(values["loss_scale"], 512);
  EXPECT_DOUBLE_EQ(values["skipped_steps"], 1);
  EXPECT_NE(metrics.Note().find("gradient norm 3.5  loss scale 512  skipped 1"), std::string::npos) << metrics.Note();
}

TEST(Events, ChecksumsAreThoseOfTheStandard) {
  EXPECT_EQ(Crc32c("123456789"), 0xE3069283u);
  std::string zeros(32, '\0');
  EXPECT_EQ(Crc32c(zeros), 0x8A9136AAu);
}

TEST(Events, HaveProtobufsBytes) {
  // tensorflow.Event(wall_time=1.5, step=300, summary={value: {tag: "a", simple_value: 2}}) as protoc encodes it
  EXPECT_EQ(EncodeScalarsEvent(1.5, 300, {{"a", 2.0}}),
            std::string("\x09\0\0\0\0\0\0\xf8\x3f\x10\xac\x02\x2a\x0a\x0a\x08\x0a\x01"
                        "a\x15\0\0\0\x40",
                        24));
  std::string record = EventRecord("xyz");
  EXPECT_EQ(record.size(), 8u + 4 + 3 + 4);
  EXPECT_EQ(record.substr(0, 8), LittleEndian(3, 8));
}

class BoardTest : public testing::Test {
 protected:
  BoardTest() {
    char name[] = "/tmp/gt_board_XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~BoardTest() override { fs::remove_all(folder_); }
  std::string folder_;
};

// Runs Python on `script` and returns its exit code and what it printed.
std::pair<int, std::string> RunPython(const std::string& python, const std::string& script, const std::string& folder) {
  std::string output = folder + "/output";
  pid_t pid = fork();
  if (pid == 0) {
    if (!freopen(output.c_str(), "w", stdout)) _exit(126);
    execl(python.c_str(), python.c_str(), "-c", script.c_str(), folder.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  std::ostringstream text;
  text << std::ifstream(output).rdbuf();
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text.str()};
}

TEST_F(BoardTest, TheRealTensorBoardReadsTheFiles) {
  const char* python = std::getenv("GT_TENSORBOARD_PYTHON");
  std::string program = python ? python : GT_TENSORBOARD_PYTHON;
  constexpr char kProbe[] = "import tensorboard.backend.event_processing.event_accumulator";
  if (RunPython(program, kProbe, folder_).first != 0)
    GTEST_SKIP() << "the tensorboard package is not installed for " << program
                 << "; name a Python that has it in GT_TENSORBOARD_PYTHON";
  Board board(folder_ + "/run");
  for (int64_t step : {10, 20}) board.Add(step, {{"loss", 1.0 / static_cast<double>(step)}, {"learning_rate", 0.5}});
  auto [code, printed] = RunPython(program, R"(
import sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1] + "/run")
events.Reload()
for tag in sorted(events.Tags()["scalars"]):
    print(tag, [(e.step, round(e.value, 4)) for e in events.Scalars(tag)])
)", folder_);
  EXPECT_EQ(code, 0);
  EXPECT_EQ(printed, "learning_rate [(10, 0.5), (20, 0.5)]\nloss [(10, 0.1), (20, 0.05)]\n");
}

TEST_F(BoardTest, WritesWhatWasAddedAtOnceAndOnlyThere) {
  Board none("");
  EXPECT_FALSE(none.Due(5));
  none.Add(1, {{"loss", 1}});
  Board board(folder_ + "/a/b");
  EXPECT_TRUE(board.Due(5));
  EXPECT_FALSE(board.Due(900));
  EXPECT_TRUE(board.Due(1005));
  board.Add(1, {{"loss", 1}});
  ASSERT_EQ(std::distance(fs::directory_iterator(folder_ + "/a/b"), fs::directory_iterator()), 1);
  fs::path file = fs::directory_iterator(folder_ + "/a/b")->path();
  EXPECT_EQ(file.filename().string().rfind("events.out.tfevents.", 0), 0u);
  auto before = fs::file_size(file);
  board.Add(2, {{"loss", 1}});
  EXPECT_GT(fs::file_size(file), before);
}

TEST_F(BoardTest, AFolderThatCannotBeMadeStopsNothing) {
  std::ofstream(folder_ + "/file") << "x";
  Board board(folder_ + "/file/run");
  board.Add(1, {{"loss", 1}});
  EXPECT_FALSE(board.Due(1'000'000));  // it gave up
}

TEST(BoardFolderTest, TasksHaveTheirOwn) {
  auto get = [](const char* name) { return std::string(name) == std::string("GT_JOB_ID") ? "42" : "7"; };
  EXPECT_EQ(BoardFolder("/tb", get), "/tb/42_7");
  EXPECT_EQ(BoardFolder("", get), "");
  EXPECT_EQ(BoardFolder("/tb", [](const char*) { return std::string(); }), "/tb");
}

}  // namespace
}  // namespace gt::trainer
