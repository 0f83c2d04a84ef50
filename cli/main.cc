// gtctl. Everything is written when RunGtctl comes back, so the process leaves without the destructors of its
// libraries: they only cost time.
#include <unistd.h>

#include "cli/gtctl.h"

int main(int argc, char** argv) {
  gt::Io io = gt::ProcessIo();
  ::_exit(gt::RunGtctl({argv + 1, argv + argc}, io));
}
