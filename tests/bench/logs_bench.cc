// What the log store costs: one writer's throughput, many small tasks, and reading back. Usage: logs_bench [directory].
#include <time.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "common/os/file.h"
#include "coordinator/logs/log_store.h"

namespace gt {
namespace {

double Seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
double CpuSeconds() {  // of this thread: what a busy machine does not stretch
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void Must(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "logs_bench: %s\n", status.message().c_str());
  std::exit(1);
}

void BenchStream(LogStore* logs) {
  const std::string chunk(256 << 10, 'x');
  const uint64_t total = 512ull << 20;
  double start = Seconds(), cpu = CpuSeconds();
  for (uint64_t at = 0; at < total;) {
    std::vector<LogInput> batch;
    for (int i = 0; i < 16; i++, at += chunk.size()) batch.push_back({.uid = {1, 1}, .offset = at, .data = chunk});
    Must(logs->Append(batch));
  }
  double took = Seconds() - start, took_cpu = CpuSeconds() - cpu;
  std::printf("one writer, 4 MiB an append, each synced: %.0f MB/s (%.0f MB/s of CPU time)\n", 1e-6 * static_cast<double>(total) / took,
              1e-6 * static_cast<double>(total) / took_cpu);
  start = Seconds();
  uint64_t offset = 0;
  for (bool more = true; more;) {
    auto pieces = logs->Read({1, 1}, {}, offset, 1 << 20);
    Must(pieces.status());
    for (const LogPiece& piece : *pieces) offset += piece.data.size();
    more = !pieces->empty();
  }
  std::printf("read back: %.0f MB/s\n", 1e-6 * static_cast<double>(offset) / (Seconds() - start));
}

// Tasks that print 100 bytes, `per_append` of them in one append.
void BenchSmall(LogStore* logs, uint64_t tasks, uint64_t per_append, uint64_t first) {
  const std::string line(100, 'y');
  double start = Seconds(), cpu = CpuSeconds();
  for (uint64_t i = 0; i < tasks; i += per_append) {
    std::vector<LogInput> batch;
    for (uint64_t k = i; k < i + per_append; k++)
      batch.push_back({.uid = {(first + k) * 0x9E3779B97F4A7C15ull, first + k}, .offset = 0, .data = line});
    Must(logs->Append(batch));
  }
  std::printf("tasks that print 100 bytes, %lu an append: %.0f/s (%.0f/s of CPU time)\n", static_cast<unsigned long>(per_append),
              static_cast<double>(tasks) / (Seconds() - start), static_cast<double>(tasks) / (CpuSeconds() - cpu));
}

long ResidentKib() {
  long pages = 0, resident = 0;
  FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%ld %ld", &pages, &resident) != 2) return 0;
  std::fclose(file);
  return resident * 4;
}

int Main(const std::string& dir) {
  std::string clean = "rm -rf '" + dir + "'";
  if (std::system(clean.c_str()) != 0) return 1;
  auto opened = LogStore::Open(dir, {});
  Must(opened.status());
  std::unique_ptr<LogStore> logs = std::move(*opened);
  BenchStream(logs.get());
  BenchSmall(logs.get(), 200, 1, 10);
  BenchSmall(logs.get(), 10'000, 100, 1'000);
  BenchSmall(logs.get(), 1'000'000, 1'000, 100'000);
  std::printf("resident after 1,000,000 attempts: %ld MiB\n", ResidentKib() / 1024);
  double start = Seconds();
  logs.reset();
  opened = LogStore::Open(dir, {});
  Must(opened.status());
  std::printf("reopen: %.0f ms, %ld MB on disk\n", (Seconds() - start) * 1e3, static_cast<long>((*opened)->TotalBytes() / 1'000'000));
  start = Seconds();
  for (uint64_t i = 0; i < 1000; i++) {
    uint64_t k = 100'000 + i * 997;
    auto pieces = (*opened)->Read({k * 0x9E3779B97F4A7C15ull, k}, {}, 0, 1000);
    Must(pieces.status());
    if (pieces->size() != 1) return 1;
  }
  std::printf("read of one small log among them: %.3f ms\n", Seconds() - start);
  return 0;
}

}  // namespace
}  // namespace gt

int main(int argc, char** argv) { return gt::Main(argc > 1 ? argv[1] : "/tmp/gt_logs_bench"); }
