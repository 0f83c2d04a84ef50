// gtctl. Everything is written when RunGtctl comes back, so the process leaves without the destructors of its
// libraries: they only cost time.
#include <malloc.h>
#include <unistd.h>

#include "cli/gtctl.h"

int main(int argc, char** argv) {
  ::mallopt(M_ARENA_MAX, 1);  // the few threads of gRPC allocate little; an arena for each costs more than it saves
  gt::Io io = gt::ProcessIo();
  ::_exit(gt::RunGtctl({argv + 1, argv + argc}, io));
}
