// Replays a corpus and seeded mutations of it through LLVMFuzzerTestOneInput. usage: NAME_fuzz CORPUS [MUTATIONS
// [SEED]]; CORPUS is a folder or one file, MUTATIONS a number, or a time as in 60s (of the CPU, on
// machines that are busy with other things too). An input that ends the process, or takes 20 s, is left behind in
// ./crash-NAME.
//
// To look for more than a test does: configure with GT_SANITIZE=address,undefined and GT_FUZZ_COVERAGE=ON, build targets
// NAME_fuzz and give each some minutes. Inputs that reach new code then become seeds themselves, as with libFuzzer.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "common/base/rng.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr long kHangSeconds = 20;
constexpr size_t kPlaces = 1 << 18;
unsigned char seen[kPlaces];
bool fresh = false;  // the input that runs came to a new place

std::string crash_file;
const uint8_t* current = nullptr;
size_t current_size = 0;

void LeaveBehind(int signal) {
  int fd = open(crash_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (fd >= 0) (void)!write(fd, current, current_size);
  const char text[] = "the input is left behind in ./crash-*\n";
  (void)!write(2, text, sizeof text - 1);
  signal == SIGPROF ? _exit(1) : static_cast<void>(raise(signal));  // the handler is gone: SA_RESETHAND
}

void WatchFor(int signal) {
  struct sigaction action = {};
  action.sa_handler = LeaveBehind;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
  sigaction(signal, &action, nullptr);
}

void SetHangTimer(long seconds) {
  itimerval timer = {{0, 0}, {seconds, 0}};
  setitimer(ITIMER_PROF, &timer, nullptr);
}

// In a block of exactly its size, so that a sanitizer sees every read beyond it.
void RunOne(const std::string& input) {
  uint8_t* copy = new uint8_t[input.size()];
  std::copy(input.begin(), input.end(), copy);
  current = copy, current_size = input.size();
  SetHangTimer(kHangSeconds);
  LLVMFuzzerTestOneInput(copy, input.size());
  SetHangTimer(0);
  current = nullptr, current_size = 0;
  delete[] copy;
}

size_t Place(gt::Rng* rng, const std::string& text) { return rng->Below(text.size() + 1); }

// Numbers at the edges of what fits, over 1, 2, 4 or 8 bytes in either order: sizes, counts and offsets of binary formats.
void PutNumber(gt::Rng* rng, std::string* text, size_t at) {
  size_t width = size_t{1} << rng->Below(4);
  if (at + width > text->size()) return;
  const uint64_t edges[] = {0, 1, UINT64_MAX, UINT64_MAX >> 1, uint64_t{1} << 63, text->size(), rng->Below(1 << 16),
                            uint64_t{1} << rng->Below(64)};
  uint64_t value = edges[rng->Below(std::size(edges))] + rng->Below(5) - 2;
  bool big_end_first = rng->OneIn(3);
  for (size_t i = 0; i < width; ++i)
    (*text)[at + (big_end_first ? width - 1 - i : i)] = static_cast<char>(value >> (8 * i));
}

// One to four small damages: a byte or number changed, a piece cut, repeated, or taken from another seed.
std::string Mutate(gt::Rng* rng, const std::vector<std::string>& seeds) {
  std::string text = seeds[rng->Below(seeds.size())];
  for (uint64_t rounds = 1 + rng->Below(4); rounds > 0; --rounds) {
    size_t at = Place(rng, text), length = std::min<size_t>(rng->Below(32), text.size() - at);
    const std::string& other = seeds[rng->Below(seeds.size())];
    switch (rng->Below(6)) {
      case 0:
        text.insert(at, 1, static_cast<char>(rng->Next()));
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, text.substr(at, length));
        break;
      case 3:
        text.insert(at, other.substr(Place(rng, other), rng->Below(64)));
        break;
      case 4:
        PutNumber(rng, &text, at);
        break;
      default:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << rng->Below(8)));
    }
  }
  return text;
}

std::vector<std::string> ReadSeeds(const std::filesystem::path& corpus) {
  std::vector<std::filesystem::path> paths;
  if (std::filesystem::is_regular_file(corpus)) paths.push_back(corpus);
  else for (const auto& entry : std::filesystem::directory_iterator(corpus)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> seeds;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return seeds;
}

}  // namespace

// Called at each branch of code that is compiled with GT_FUZZ_COVERAGE.
extern "C" __attribute__((no_sanitize_coverage, no_sanitize("address", "undefined"))) void __sanitizer_cov_trace_pc() {
  static uintptr_t before = 0;
  auto here = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
  unsigned char& place = seen[(here ^ before >> 1) % kPlaces];
  before = here;
  if (place == 0) place = 1, fresh = true;
}

// A sanitizer's report ends in SIGABRT; what asks for more memory than any small input deserves is a report too.
extern "C" const char* __asan_default_options() { return "abort_on_error=1:max_allocation_size_mb=512"; }
extern "C" const char* __ubsan_default_options() { return "abort_on_error=1:print_stacktrace=1"; }

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  crash_file = std::string("crash-") + program_invocation_short_name;
  WatchFor(SIGABRT);
  WatchFor(SIGPROF);
#ifndef __SANITIZE_ADDRESS__
  WatchFor(SIGSEGV);
#endif
  std::vector<std::string> seeds = ReadSeeds(argv[1]);
  if (seeds.empty()) return std::fprintf(stderr, "no corpus in %s\n", argv[1]), 1;
  for (const std::string& seed : seeds) RunOne(seed);
  gt::Rng rng(argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1);
  char* unit = nullptr;
  uint64_t most = argc > 2 ? std::strtoull(argv[2], &unit, 10) : 0, done = 0;
  bool timed = unit != nullptr && *unit == 's';
  size_t given = seeds.size();
  for (; timed ? std::clock() / CLOCKS_PER_SEC < static_cast<std::clock_t>(most) : done < most; ++done) {
    std::string input = Mutate(&rng, seeds);
    fresh = false;
    RunOne(input);
    if (fresh && input.size() <= 64 << 10) seeds.push_back(std::move(input));
  }
  std::printf("%zu seeds, %llu mutations, %zu of them reached new code\n", given,
              static_cast<unsigned long long>(done), seeds.size() - given);
  return 0;
}
