// What the control plane costs: durable submits by 1, 8 and 64 clients, submits of many jobs a request, and tasks that do
// nothing on 1, 4 and 16 nodes, with the coordinator's CPU time a task. Real gt-coordinator on loopback; workers only pretend,
// so no process is started. Prints one line a figure: name, value, unit, and what it was measured against.
//   control_bench GT_COORDINATOR [seconds a figure, default 3] [noop|submit|batch: only these]
#include <absl/synchronization/mutex.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <thread>

#include "cli/client.h"
#include "common/os/file.h"
#include "tests/bench/figures.h"
#include "tests/support/cluster.h"
#include "tests/support/fake_worker.h"

namespace gt::test {
namespace {

// What a write of one small record to this disk costs: the floor of every durable answer.
double FdatasyncMillis(const std::string& dir) {
  Result<Fd> fd = OpenFile(dir + "/sync", O_WRONLY | O_CREAT);
  if (!fd.ok()) return 0;
  std::string block(4096, 'x');
  auto begin = Clock::now();
  constexpr int kRounds = 200;
  for (int i = 0; i < kRounds; i++) {
    if (!WriteAllAt(fd->get(), block, i * 4096).ok()) return 0;
    ::fdatasync(fd->get());
  }
  return Since(begin) * 1000 / kRounds;
}

constexpr size_t kBatch = 1000;  // jobs of a request

struct Bench {
  CoordinatorProcess* coordinator;
  double seconds;
  int run = 0;

  void Submits(int clients) {
    std::vector<std::vector<double>> millis(clients);
    std::vector<std::thread> threads;
    double cpu = coordinator->CpuSeconds();
    auto begin = Clock::now();
    int this_run = run++;
    for (int c = 0; c < clients; c++) {
      threads.emplace_back([&, c] {
        Client client(coordinator->access(), 60 * kSecond);  // gtctl's
        for (int i = 0; Since(begin) < seconds; i++) {
          auto sent = Clock::now();
          wire::SubmitResponse answer;
          if (!client.Submit(TrueJob(std::to_string(this_run) + "-" + std::to_string(c) + "-" + std::to_string(i)), &answer).ok()) std::abort();
          millis[c].push_back(Since(sent) * 1000);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    double took = Since(begin);
    cpu = coordinator->CpuSeconds() - cpu;
    std::vector<double> all;
    for (auto& part : millis) all.insert(all.end(), part.begin(), part.end());
    std::string name = std::to_string(clients);
    Print("durable_submits_per_s_" + name, all.size() / took, "/s", "each its own call and answer");
    Print("submit_ms_p50_" + name, Percentile(all, 0.5), "ms", "p99 " + std::to_string(Percentile(all, 0.99)) + " ms");
    Print("submit_cpu_us_" + name, cpu * 1e6 / all.size(), "us", "of the coordinator, a submit");
  }

  // Made before the clock starts: what the client's own work costs is not the question.
  std::vector<wire::SubmitRequest> Batches(size_t count) {
    std::vector<wire::SubmitRequest> requests(count);
    int this_run = run++, job = 0;
    for (wire::SubmitRequest& request : requests)
      for (size_t i = 0; i < kBatch; i++) *request.add_jobs() = TrueJob(std::to_string(this_run) + "-" + std::to_string(job++)).jobs(0);
    return requests;
  }

  void BatchSubmits() {
    Client client(coordinator->access(), 60 * kSecond);
    std::vector<wire::SubmitRequest> requests = Batches(static_cast<size_t>(seconds * 100));
    std::atomic<size_t> next = 0, done = 0;
    auto begin = Clock::now();
    auto send = [&] {
      for (size_t i = next++; i < requests.size() && Since(begin) < seconds; i = next++, done++) {
        wire::SubmitResponse answer;
        if (!client.Submit(requests[i], &answer).ok()) std::abort();
      }
    };
    std::thread other(send);
    send();
    other.join();
    Print("batch_submits_per_s", static_cast<double>(done * kBatch) / Since(begin), "/s", "1,000 jobs a request, one client with two requests under way");
  }

  void Noops(int nodes, uint32_t tasks, int cpus) {
    JobsClient client(coordinator->access());
    client.deadline_seconds = 300;
    std::vector<std::unique_ptr<FakeWorker>> workers;
    for (int i = 0; i < nodes; i++) workers.push_back(std::make_unique<FakeWorker>(coordinator->access(), FakeWorkerOptions{.name = "n" + std::to_string(i), .cpus = cpus}));
    for (auto& worker : workers)
      if (!worker->Welcomed()) std::abort();
    double cpu = coordinator->CpuSeconds();
    auto begin = Clock::now();
    auto answer = client.SubmitTrue("noop-" + std::to_string(run++), "0-" + std::to_string(tasks - 1));
    if (!answer.ok() || answer->jobs(0).problems_size() > 0) std::abort();
    auto seen = client.Watch(answer->jobs(0).job_id());
    double took = Since(begin);
    cpu = coordinator->CpuSeconds() - cpu;
    if (!seen.ok() || seen->back().succeeded() != tasks) std::abort();
    std::string name = std::to_string(nodes);
    Print("noop_tasks_per_s_" + name, tasks / took, "/s", std::to_string(tasks) + " tasks of one array, " + std::to_string(cpus) + " slots a node");
    Print("coordinator_cpu_us_per_task_" + name, cpu * 1e6 / tasks, "us", "of the coordinator, a task");
  }
};

int Main(int argc, char** argv) {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);  // as the coordinator does; clients share its CPUs
  if (argc < 2) return std::fputs("usage: control_bench GT_COORDINATOR [SECONDS] [noop|submit|batch]\n", stderr), 2;
  CoordinatorProcess coordinator(argv[1]);
  Status started = coordinator.Start({"--set", "log.level=warn"});
  if (!started.ok()) return std::fprintf(stderr, "%s\n", started.message().c_str()), 1;
  Bench bench{&coordinator, argc > 2 ? std::atof(argv[2]) : 3.0};
  Print("fdatasync_ms", FdatasyncMillis(coordinator.dir()), "ms", "4 KiB appended, same disk: the floor");
  std::string only = argc > 3 ? argv[3] : "";
  auto wanted = [&](const char* what) { return only.empty() || only == what; };
  if (wanted("noop"))
    for (int nodes : {1, 4, 16}) bench.Noops(nodes, 100'000, 64);
  if (wanted("submit"))
    for (int clients : {1, 8, 64}) bench.Submits(clients);
  if (wanted("batch")) bench.BatchSubmits();
  return 0;
}

}  // namespace
}  // namespace gt::test

int main(int argc, char** argv) { return gt::test::Main(argc, argv); }
