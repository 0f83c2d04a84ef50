// Programs under test write to logs that nobody reads when a test passes: what a sanitizer says there must fail it.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "common/os/file.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define GT_SANITIZED 1
#else
#define GT_SANITIZED 0
#endif

namespace gt::test {

inline constexpr bool kSanitized = GT_SANITIZED;

// From the first report on; empty when there is none.
inline std::string SanitizerReport(const std::string& text) {
  size_t first = std::string::npos;
  for (const char* sign : {"ERROR: AddressSanitizer", "ERROR: LeakSanitizer", "WARNING: ThreadSanitizer", "runtime error: "})
    first = std::min(first, text.find(sign));
  return first == std::string::npos ? "" : text.substr(text.rfind('\n', first) + 1);
}

// Fails the test when the program that logs to `path` was found out. No file: it never started.
inline void ExpectNoSanitizerReport(const std::string& path) {
  Result<std::string> text = ReadFile(path);
  EXPECT_EQ(text.ok() ? SanitizerReport(*text) : "", "") << path;
}

}  // namespace gt::test
