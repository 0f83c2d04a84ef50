#include "cli/io.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "cli/exit_code.h"

namespace gt {
namespace {

constexpr size_t kMaxInput = 2u << 20;

void WriteOrLeave(int fd, std::string_view text) {
  while (!text.empty()) {
    ssize_t written = ::write(fd, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EPIPE) {
      ::_exit(kExitPipeClosed);
    } else if (errno != EINTR) {
      std::string message = std::string("error: cannot write the output: ") + std::strerror(errno) + "\n";
      if (fd != STDERR_FILENO) (void)!::write(STDERR_FILENO, message.data(), message.size());
      ::_exit(kExitFailed);
    }
  }
}

Result<std::string> ReadInput() {
  std::string text;
  char buffer[16384];
  while (true) {
    ssize_t size = ::read(STDIN_FILENO, buffer, sizeof buffer);
    if (size == 0) return text;
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return ErrnoStatus(errno, "standard input");
    text.append(buffer, static_cast<size_t>(size));
    if (text.size() > kMaxInput) return Status(Code::kInvalidArgument, "standard input is larger than 2 MiB");
  }
}

std::string ReadLine() {
  std::string line;
  char c = 0;
  while (line.size() < 256 && ::read(STDIN_FILENO, &c, 1) == 1 && c != '\n') line += c;
  return line;
}

}  // namespace

std::string Io::Variable(const char* name) const {
  const char* value = environment(name);
  return value ? value : "";
}

Io ProcessIo() {
  Io io;
  io.out = [](std::string_view text) { WriteOrLeave(STDOUT_FILENO, text); };
  io.err = [](std::string_view text) { WriteOrLeave(STDERR_FILENO, text); };
  io.in = ReadInput;
  io.ask = ReadLine;
  io.environment = [](const char* name) -> const char* { return std::getenv(name); };
  io.leave = [](int code) { ::_exit(code); };
  io.in_terminal = ::isatty(STDIN_FILENO);
  io.out_terminal = ::isatty(STDOUT_FILENO);
  io.err_terminal = ::isatty(STDERR_FILENO);
  struct winsize size = {};
  if (io.out_terminal && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) io.columns = size.ws_col;
  return io;
}

}  // namespace gt
