// What gtctl itself costs: whole processes of `gtctl submit -q -- /bin/true` against a coordinator that answers at once
// and keeps nothing, beside /bin/true. usage: cli_bench GTCTL [RUNS]
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/unit/cli/fake_jobs.h"

namespace {

using Clock = std::chrono::steady_clock;

double RunMs(std::vector<std::string> words, std::vector<std::string> environment) {
  std::vector<char*> argv, envp;
  for (std::string& word : words) argv.push_back(word.data());
  for (std::string& variable : environment) envp.push_back(variable.data());
  argv.push_back(nullptr), envp.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", 1, 0);
  pid_t pid = 0;
  int status = 0;
  auto begin = Clock::now();
  if (::posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), envp.data()) != 0 ||
      ::waitpid(pid, &status, 0) != pid || status != 0) {
    std::fprintf(stderr, "%s failed: status %d\n", words[0].c_str(), status);
    std::exit(1);
  }
  ::posix_spawn_file_actions_destroy(&actions);
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

void Say(const char* name, std::vector<double> values, double share, const char* beside) {
  std::sort(values.begin(), values.end());
  std::printf("%-28s %12.3f ms       %s\n", name,
              values[static_cast<size_t>(static_cast<double>(values.size() - 1) * share)], beside);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  int runs = argc > 2 ? std::atoi(argv[2]) : 300;
  gt::FakeJobs fake;
  std::vector<std::string> environment = {"GTCTL_SERVER=" + fake.address(),
                                          std::string("GTCTL_TOKEN=") + gt::FakeJobs::kToken, "USER=ada"};
  std::vector<double> floor, submit;
  for (int i = 0; i < runs; ++i) {
    floor.push_back(RunMs({"/bin/true"}, environment));
    submit.push_back(RunMs({argv[1], "submit", "-q", "--", "/bin/true"}, environment));
  }
  Say("machine_true_ms", floor, 0.5, "spawn and exit of /bin/true");
  Say("gtctl_submit_p50_ms", submit, 0.5, "whole process against a coordinator that answers at once");
  Say("gtctl_submit_p99_ms", submit, 0.99, "the same");
}
