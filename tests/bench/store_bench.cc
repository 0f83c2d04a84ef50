// What the store costs: task lifecycles a second through commits as the loop makes them, the price of one sync, and reads
// over a million finished tasks. Usage: store_bench [directory] [tasks].
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "common/os/file.h"
#include "tests/unit/store/script.h"

namespace gt {
namespace {

double Seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double CpuSeconds() {  // of this thread: what a busy machine does not stretch
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <typename Value>
Value Must(Result<Value> result) {
  if (result.ok()) return std::move(*result);
  std::fprintf(stderr, "store_bench: %s\n", result.status().message().c_str());
  std::exit(1);
}
void Must(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "store_bench: %s\n", status.message().c_str());
  std::exit(1);
}

double MedianMillis(std::vector<double> seconds, double quantile = 0.5) {
  std::sort(seconds.begin(), seconds.end());
  return seconds[static_cast<size_t>(quantile * static_cast<double>(seconds.size() - 1))] * 1e3;
}

void BenchSync(const std::string& dir) {
  Fd file = Must(OpenFile(dir + "/sync", O_CREAT | O_RDWR));
  Must(Preallocate(file.get(), 1 << 20));
  std::vector<double> took;
  for (int i = 0; i < 200; i++) {
    Must(WriteAllAt(file.get(), std::string(4096, 'x'), (i % 256) * 4096));
    double start = Seconds();
    if (fdatasync(file.get()) != 0) std::exit(1);
    took.push_back(Seconds() - start);
  }
  std::printf("fdatasync of 4 KiB: median %.2f ms, p99 %.2f ms\n", MedianMillis(took), MedianMillis(took, 0.99));
}

// Tasks of an array in batches: placed in one commit, running in the next, ended and finished in a third; a line of history each.
void BenchLifecycles(Store* store, Script* script, NodeId node, uint32_t tasks, uint32_t batch) {
  JobId job = script->Submit("bench", tasks);
  Must(script->Commit(store));
  double inside = 0, cpu = 0, longest = 0;
  auto commit = [&] {
    double start = Seconds(), cpu_start = CpuSeconds();
    Must(store->Commit(script->batch, script->state));
    inside += Seconds() - start;
    cpu += CpuSeconds() - cpu_start;
    longest = std::max(longest, Seconds() - start);
    script->Forget();
  };
  for (uint32_t at = 0; at < tasks; at += batch) {
    std::vector<Uid> uids;
    uint32_t end = std::min(tasks, at + batch);
    for (uint32_t i = at; i < end; i++) {
      uids.push_back(script->Place({job, i}, {node}));
      script->Note(job, "PLACED", "on n1");
    }
    commit();
    for (Uid uid : uids) {
      script->Run(uid);
      script->Note(job, "RUNNING", "");
    }
    commit();
    for (uint32_t i = at; i < end; i++) {
      script->End(uids[i - at], Cause::kSucceeded);
      script->Finish({job, i}, TaskState::kSucceeded);
      script->Note(job, "SUCCEEDED", "exit 0");
    }
    commit();
  }
  std::printf("lifecycles, %u a batch: %.0f/s inside Commit, %.0f/s of CPU time (placed, running, ended and 3 history rows), longest commit %.0f ms\n",
              batch, tasks / inside, tasks / cpu, longest * 1e3);
}

void BenchSubmits(Store* store, Script* script, uint32_t jobs) {
  double inside = 0;
  for (uint32_t at = 0; at < jobs; at += 1000) {
    for (uint32_t i = 0; i < 1000; i++) script->Submit("queued");
    double start = Seconds();
    Must(script->Commit(store));
    inside += Seconds() - start;
  }
  std::printf("submits, 1000 a commit: %.0f/s\n", jobs / inside);
  double start = Seconds();
  ClusterState state = Must(store->Load());
  std::printf("load of %zu live jobs: %.0f ms\n", state.jobs.size(), (Seconds() - start) * 1e3);
}

void BenchReads(Store* store, uint64_t jobs) {
  std::vector<double> list, get, attempts, events;
  Rng rng(1);
  auto timed = [](std::vector<double>* into, auto call) {
    double start = Seconds();
    Must(call());
    into->push_back(Seconds() - start);
  };
  for (int i = 0; i < 500; i++) {
    JobId id{1 + rng.Below(jobs)};
    timed(&list, [&] { return store->ListJobs({.all = rng.OneIn(2), .before = id}); });
    timed(&get, [&] { return store->GetJob(id); });
    timed(&attempts, [&] { return store->GetAttempts({JobId{1}, static_cast<uint32_t>(rng.Below(1000))}); });
    timed(&events, [&] { return store->Events(id, 0, 100); });
  }
  std::printf("reads, p99: list %.2f ms, job %.2f ms, attempts %.2f ms, events %.2f ms\n", MedianMillis(list, 0.99),
              MedianMillis(get, 0.99), MedianMillis(attempts, 0.99), MedianMillis(events, 0.99));
}

int Main(int argc, char** argv) {
  std::string dir = argc > 1 ? argv[1] : "/tmp/gt_store_bench";
  uint32_t tasks = argc > 2 ? static_cast<uint32_t>(std::atoi(argv[2])) : 200'000;
  Must(MakeDirectories(dir));
  for (const char* name : {"/state.db", "/state.db-wal", "/state.db-shm"}) Must(RemoveFile(dir + name));
  BenchSync(dir);
  auto store = Must(Store::Open(dir + "/state.db", {}));
  Script script;
  NodeId node = script.AddNode("n1");
  script.state.nodes.at(node).cpus_free = 1 << 30;
  BenchLifecycles(store.get(), &script, node, tasks / 10, 100);
  BenchLifecycles(store.get(), &script, node, tasks, 1000);
  BenchSubmits(store.get(), &script, 100'000);
  BenchReads(store.get(), script.state.next_job.value);
  return 0;
}

}  // namespace
}  // namespace gt

int main(int argc, char** argv) { return gt::Main(argc, argv); }
