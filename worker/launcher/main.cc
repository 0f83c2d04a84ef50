#include <cstdio>

#include "worker/launcher/launcher.h"

int main(int argc, char** argv) {
  using namespace gt::launcher;  // NOLINT
  auto options = ParseOptions({argv + 1, argv + argc});
  if (!options.ok()) {
    std::fprintf(stderr, "gt-launcher: %s\n%s", options.status().message().c_str(), Usage().c_str());
    return 2;
  }
  if (options->help) return std::fputs(Usage().c_str(), stdout) < 0;
  if (gt::Status reserved = ReserveSpawnFds(); !reserved.ok()) {
    std::fprintf(stderr, "gt-launcher: %s\n", reserved.message().c_str());
    return 1;
  }
  auto launcher = Launcher::Make(*options);
  if (!launcher.ok()) {
    std::fprintf(stderr, "gt-launcher: %s\n", launcher.status().message().c_str());
    return 1;
  }
  (*launcher)->Run();
  return 0;
}
