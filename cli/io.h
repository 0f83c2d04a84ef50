// The world around gtctl: its streams, the terminal, the environment. Tests put their own in its place.
#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/text/table.h"

namespace gt {

struct Io {
  std::function<void(std::string_view)> out;  // standard output; any thread, one piece a call
  std::function<void(std::string_view)> err;  // standard error; the same
  std::function<Result<std::string>()> in;    // all of standard input
  std::function<std::string()> ask;           // one line from the terminal, for a question
  std::function<const char*(const char*)> environment;
  // Ends the process with the exit code where it stands; without it the code is returned, after everything was torn down,
  // which takes gRPC longer than its calls.
  std::function<void(int)> leave;
  bool in_terminal = false;
  bool out_terminal = false;
  bool err_terminal = false;
  size_t columns = 0;  // of the terminal that is standard output; 0: unknown

  std::string Variable(const char* name) const;
};

// The process's own. Output goes through write(2) at once; when the reader of a pipe has gone the process leaves
// quietly.
Io ProcessIo();

}  // namespace gt
