// gt-trainer SPEC.json: trains as the spec says, as the rank that the environment says (see trainer.h).
#include <unistd.h>

#include <cstdio>

#include "worker/trainer/contract/control.h"
#include "worker/trainer/trainer.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: gt-trainer SPEC.json\n");
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  gt::trainer::BlockStopSignals();
  int code = gt::trainer::RunTrainer(argv[1]);
  std::fflush(stdout);
  // Not exit: the threads of dead groups may still wait inside a library, and its destructors would wait for them.
  _exit(code);
}
