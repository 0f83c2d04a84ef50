// What the control plane keeps up at size: a start with a long queue and a long history, thousands of nodes that beat, hours
// of batches, hundreds of clients that poll. Real gt-coordinator on loopback; workers only pretend.
//   scale_bench GT_COORDINATOR [restart|fleet|endurance|poller: only these]
#include <absl/synchronization/mutex.h>
#include <sys/resource.h>

#include <fstream>
#include <functional>
#include <memory>
#include <thread>

#include "cli/client.h"
#include "tests/bench/figures.h"
#include "tests/support/cluster.h"
#include "tests/support/fake_worker.h"
#include "tests/support/fleet.h"

namespace gt::test {
namespace {

void Require(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "scale_bench: %s\n", what);
  std::exit(1);
}

double MillisOf(const std::function<bool()>& call) {
  auto begin = Clock::now();
  Require(call(), "a call failed");
  return Since(begin) * 1000;
}

double RssMb(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string word; status >> word;)
    if (word == "VmRSS:") return status >> word, std::stod(word) / 1024;
  return 0;
}

using Workers = std::vector<std::unique_ptr<FakeWorker>>;
Workers StartWorkers(const Access& access, int count, bool finish_at_once) {
  Workers workers;
  for (int i = 0; i < count; i++)
    workers.push_back(std::make_unique<FakeWorker>(
        access, FakeWorkerOptions{.name = "n" + std::to_string(i), .cpus = 256, .finish_at_once = finish_at_once}));
  for (auto& worker : workers) Require(worker->Welcomed().has_value(), "a worker was not welcomed");
  return workers;
}

struct Bench {
  CoordinatorProcess coordinator;
  int run = 0;
  explicit Bench(const char* program) : coordinator(program) {
    Require(coordinator.Start({"--set", "log.level=warn"}).ok(), "the coordinator does not start");
  }

  uint64_t RunArray(JobsClient* client, uint32_t tasks) {
    auto answer = client->SubmitTrue("array-" + std::to_string(run++), "0-" + std::to_string(tasks - 1));
    Require(answer.ok() && answer->jobs(0).problems_size() == 0, "an array was refused");
    auto seen = client->Watch(answer->jobs(0).job_id());
    Require(seen.ok() && seen->back().succeeded() == tasks, "an array did not succeed");
    return answer->jobs(0).job_id();
  }

  void Restart() {
    constexpr int kArrays = 10, kQueued = 100'000;
    JobsClient client(coordinator.access());
    client.deadline_seconds = 300;
    uint64_t finished = 0, queued = 0;
    {
      Workers workers = StartWorkers(coordinator.access(), 4, true);
      for (int i = 0; i < kArrays; i++) finished = RunArray(&client, 100'000);
    }
    for (int i = 0; i < kQueued / 1000; i++) {
      wire::SubmitRequest request;
      for (int j = 0; j < 1000; j++) *request.add_jobs() = TrueJob("queued-" + std::to_string(i * 1000 + j)).jobs(0);
      auto answer = client.Submit(request);
      Require(answer.ok(), "a batch was refused");
      queued = answer->jobs(0).job_id();
    }
    Client reader(coordinator.access(), 60 * kSecond);
    std::vector<double> millis;
    wire::GetJobRequest of_finished, of_queued;
    of_finished.set_job_id(finished);
    of_finished.set_task_index(4711);
    of_queued.set_job_id(queued);
    for (int i = 0; i < 300; i++) {
      wire::ListResponse list;
      wire::JobDetail detail;
      wire::ExplainResponse why;
      millis.push_back(MillisOf([&] { return reader.List({}, &list).ok(); }));
      millis.push_back(MillisOf([&] { return reader.GetJob(i % 2 ? of_queued : of_finished, &detail).ok(); }));
      millis.push_back(MillisOf([&] { return reader.Explain(of_queued, &why).ok(); }));
    }
    Print("list_p99_ms", Percentile(millis, 0.99), "ms", "list, status and explain; 100,000 queued jobs, 1,000,000 finished tasks");

    coordinator.Kill();
    auto begin = Clock::now();
    Require(coordinator.Start({"--set", "log.level=warn"}).ok(), "the coordinator does not start again");
    double answers = Since(begin);
    Workers workers = StartWorkers(coordinator.access(), 4, false);
    Require(workers[0]->TakeRun().has_value(), "nothing was dispatched");
    Print("restart_first_dispatch_s", Since(begin), "s", "from exec to the first order; it answered calls after " + std::to_string(answers) + " s");
    Print("restart_rss_mb", RssMb(coordinator.pid()), "MB", "resident then");
  }

  void FleetOfNodes() {
    constexpr int kNodes = 5000;
    constexpr double kSeconds = 20;
    Fleet fleet(coordinator.access(), kNodes, 2 * kSecond);
    auto all_in = [&](double within) {
      for (auto begin = Clock::now(); fleet.welcomed() < kNodes; std::this_thread::sleep_for(std::chrono::milliseconds(20)))
        if (Since(begin) > within) return false;
      return true;
    };
    Require(all_in(120), "not every node could join");
    std::this_thread::sleep_for(std::chrono::seconds(4));
    double cpu = coordinator.CpuSeconds();
    auto begin = Clock::now();
    uint64_t beats = fleet.beats(), late = fleet.late();
    while (Since(begin) < kSeconds) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    double percent = 100 * (coordinator.CpuSeconds() - cpu) / Since(begin);
    int up = 0;
    auto nodes = JobsClient(coordinator.access()).Nodes();
    for (const auto& node : nodes->nodes()) up += node.state() == "UP";
    Require(up == kNodes, "some node is not UP");
    Print("fleet_cpu_percent", percent, "%", "of one core; 5,000 nodes, " + std::to_string(fleet.beats() - beats) + " beats, " + std::to_string(fleet.late() - late) + " late at the sender");
    Print("fleet_rss_mb", RssMb(coordinator.pid()), "MB", "resident then");
    coordinator.Kill();
    begin = Clock::now();
    Require(coordinator.Start({"--set", "log.level=warn"}).ok(), "the coordinator does not start again");
    Require(all_in(60), "not every node came back");
    Print("fleet_reconnect_s", Since(begin), "s", "from exec after kill -9 until all 5,000 are in again");
  }

  void Endurance() {
    constexpr int kBatches = 50, kSkipped = 5;
    constexpr uint32_t kTasks = 4096;
    JobsClient client(coordinator.access());
    client.deadline_seconds = 300;
    Client reader(coordinator.access(), 60 * kSecond);
    Workers workers = StartWorkers(coordinator.access(), 4, true);
    std::vector<double> rates, memory, millis, early, late;
    for (int i = 0; i < kBatches; i++) {
      auto begin = Clock::now();
      uint64_t job = RunArray(&client, kTasks);
      double took = Since(begin);
      wire::GetJobRequest request;
      request.set_job_id(job);
      std::vector<double>& p99 = i < (kBatches + kSkipped) / 2 ? early : late;
      for (int call = 0; call < 100 && i >= kSkipped; call++) {
        wire::JobDetail detail;
        p99.push_back(MillisOf([&] { return reader.GetJob(request, &detail).ok(); }));
      }
      if (i < kSkipped) continue;
      rates.push_back(kTasks / took);
      memory.push_back(RssMb(coordinator.pid()));
    }
    double slower = -SlopePercent(rates), larger = SlopePercent(memory);
    double p99 = 100 * (Percentile(late, 0.99) / Percentile(early, 0.99) - 1);
    Print("endurance_slope_percent", std::max(slower, larger), "%", "the worse of: tasks/s lost " + std::to_string(slower) + " %, memory grown " + std::to_string(larger) + " % (to " + std::to_string(memory.back()) + " MB)");
    Print("endurance_p99_percent", p99, "%", "rise of status p99 from the first half to the second, " + std::to_string(Percentile(late, 0.99)) + " ms");
  }

  double SubmitP99(int clients, double seconds) {
    std::vector<std::vector<double>> millis(static_cast<size_t>(clients));
    std::vector<std::thread> threads;
    auto begin = Clock::now();
    int this_run = run++;
    for (int c = 0; c < clients; c++)
      threads.emplace_back([&, c] {
        Client client(coordinator.access(), 60 * kSecond);
        for (int i = 0; Since(begin) < seconds; i++) {
          wire::SubmitResponse answer;
          std::string key = std::to_string(this_run) + "-" + std::to_string(c) + "-" + std::to_string(i);
          millis[static_cast<size_t>(c)].push_back(MillisOf([&] { return client.Submit(TrueJob(key), &answer).ok(); }));
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
      });
    for (std::thread& thread : threads) thread.join();
    std::vector<double> all;
    for (auto& part : millis) all.insert(all.end(), part.begin(), part.end());
    return Percentile(all, 0.99);
  }

  void Pollers() {
    constexpr int kThreads = 10, kClients = 50;  // each thread serves so many clients, once a second
    constexpr double kSeconds = 5;
    JobsClient client(coordinator.access());
    auto job = client.SubmitTrue("polled");
    Require(job.ok(), "a submit failed");
    double alone = SubmitP99(4, kSeconds);
    std::atomic<bool> stop = false;
    std::atomic<int> polls = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; t++)
      threads.emplace_back([&] {
        std::vector<std::unique_ptr<Client>> clients;
        for (int i = 0; i < kClients; i++) clients.push_back(std::make_unique<Client>(coordinator.access(), 60 * kSecond));
        wire::GetJobRequest request;
        request.set_job_id(job->jobs(0).job_id());
        auto next = Clock::now();
        for (int i = 0; !stop; i = (i + 1) % kClients) {
          wire::JobDetail detail;
          Require(clients[static_cast<size_t>(i)]->GetJob(request, &detail).ok(), "a poll failed");
          polls++;
          std::this_thread::sleep_until(next += std::chrono::microseconds(1'000'000 / kClients));
        }
      });
    std::this_thread::sleep_for(std::chrono::seconds(2));  // all of them are connected
    double beside = SubmitP99(4, kSeconds);
    stop = true;
    for (std::thread& thread : threads) thread.join();
    Print("poller_submit_p99_ratio", beside / alone, "x", "submit p99 " + std::to_string(beside) + " ms beside 500 clients that poll status once a second, " + std::to_string(alone) + " ms without");
  }
};

int Main(int argc, char** argv) {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);  // as the coordinator does; clients share its CPUs
  if (argc < 2) return std::fputs("usage: scale_bench GT_COORDINATOR [restart|fleet|endurance|poller]\n", stderr), 2;
  rlimit files = {};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  std::string only = argc > 2 ? argv[2] : "";
  const std::pair<const char*, void (Bench::*)()> parts[] = {
      {"poller", &Bench::Pollers}, {"endurance", &Bench::Endurance}, {"restart", &Bench::Restart}, {"fleet", &Bench::FleetOfNodes}};
  for (auto [name, part] : parts) {
    if (!only.empty() && only != name) continue;
    Bench bench(argv[1]);  // each with a coordinator of its own
    (bench.*part)();
  }
  return 0;
}

}  // namespace
}  // namespace gt::test

int main(int argc, char** argv) { return gt::test::Main(argc, argv); }
