// Replays a corpus and seeded mutations of it through LLVMFuzzerTestOneInput. usage: NAME_fuzz CORPUS [MUTATIONS
// [SEED]]
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "common/base/rng.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

void RunOne(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

size_t Place(gt::Rng* rng, const std::string& text) { return rng->Below(text.size() + 1); }

// One to four small damages: a byte changed, a piece cut, repeated, or taken from another seed.
std::string Mutate(gt::Rng* rng, const std::vector<std::string>& seeds) {
  std::string text = seeds[rng->Below(seeds.size())];
  for (uint64_t rounds = 1 + rng->Below(4); rounds > 0; --rounds) {
    size_t at = Place(rng, text), length = std::min<size_t>(rng->Below(32), text.size() - at);
    const std::string& other = seeds[rng->Below(seeds.size())];
    switch (rng->Below(5)) {
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
      default:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << rng->Below(8)));
    }
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> seeds;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  if (seeds.empty()) return std::fprintf(stderr, "no corpus in %s\n", argv[1]), 1;
  for (const std::string& seed : seeds) RunOne(seed);
  gt::Rng rng(argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1);
  uint64_t mutations = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
  for (uint64_t i = 0; i < mutations; ++i) RunOne(Mutate(&rng, seeds));
  std::printf("%zu seeds, %llu mutations\n", seeds.size(), static_cast<unsigned long long>(mutations));
  return 0;
}
