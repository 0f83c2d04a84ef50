// GT_ASSERT: a broken invariant of our own ends the process, in release builds too. Never for what came from outside:
// that is a Status.
#pragma once
#include <cstdio>
#include <cstdlib>

namespace gt {
[[noreturn]] inline void AssertFailed(const char* what, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: broken invariant: %s\n", file, line, what);
  std::abort();
}
}  // namespace gt

#define GT_ASSERT(condition)                                   \
  do {                                                         \
    if (!(condition)) [[unlikely]]                             \
      ::gt::AssertFailed(#condition, __FILE__, __LINE__);      \
  } while (false)
