// gt-trainer SPEC.json: trains as the spec says, as the rank that the environment says (see trainer.h).
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "worker/trainer/contract/control.h"
#include "worker/trainer/trainer.h"

namespace {
constexpr char kUsage[] =
    "usage: gt-trainer SPEC.json\n"
    "Trains as the spec says, as one rank of a group. Started by gt-launcher for jobs with `train:`; what to train is said in a\n"
    "job file (see configs/jobs), which rank it is in the environment, as torchrun does (RANK, WORLD_SIZE, ...).\n";
}

int main(int argc, char** argv) {
  bool help = argc == 2 && (std::strcmp(argv[1], "--help") == 0 || std::strcmp(argv[1], "-h") == 0);
  if (argc != 2 || help) {
    std::fputs(kUsage, help ? stdout : stderr);
    return help ? 0 : 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  gt::trainer::BlockStopSignals();
  int code = gt::trainer::RunTrainer(argv[1]);
  std::fflush(stdout);
  // Not exit: the threads of dead groups may still wait inside a library, and its destructors would wait for them.
  _exit(code);
}
