#include "coordinator/service/crash_record.h"

#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <iterator>
#include <sstream>
#include <vector>

#include "common/os/file.h"

namespace gt {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
int crash_fd = -1;  // open for the life of the process
struct sigaction before[std::size(kSignals)];

std::string PathOf(const std::string& data_dir) { return data_dir + "/crashes"; }

void OnCrash(int number) {
  NoteCrash();
  for (size_t i = 0; i < std::size(kSignals); ++i)
    if (kSignals[i] == number) sigaction(number, &before[i], nullptr);
  raise(number);
}

}  // namespace

std::string HoldAfterCrashes(const std::string& data_dir, Millis wall) {
  Result<std::string> text = ReadFile(PathOf(data_dir));
  if (!text.ok() || text->empty()) return "";
  std::istringstream lines(*text);
  std::string recent;
  int count = 0;
  for (int64_t at = 0; lines >> at;) {
    if (at * kSecond > wall || at * kSecond < wall - kHoldWithin) continue;
    recent += std::to_string(at) + "\n";
    ++count;
  }
  WriteFile(PathOf(data_dir), recent, 0600).ok();  // kept longer, they would do no harm
  if (count < kHoldAfterCrashes) return "";
  return "the coordinator has crashed " + std::to_string(count) + " times within a minute, and now only answers questions, so that nothing gets worse; "
         "its log says what happened. To let it work again, restart it, a minute after the last crash or with " + PathOf(data_dir) + " removed";
}

Status RecordCrashes(const std::string& data_dir) {
  GT_ASSIGN_OR_RETURN(Fd file, OpenFile(PathOf(data_dir), O_WRONLY | O_CREAT | O_APPEND, 0600));
  crash_fd = file.Release();
  struct sigaction action = {};
  action.sa_handler = OnCrash;
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &action, &before[i]);
  return OkStatus();
}

void NoteCrash() {
  if (crash_fd < 0) return;
  char line[24];
  char* at = line + sizeof line;
  *--at = '\n';
  for (int64_t rest = time(nullptr); rest > 0; rest /= 10) *--at = static_cast<char>('0' + rest % 10);
  if (write(crash_fd, at, static_cast<size_t>(line + sizeof line - at)) < 0) return;
}

}  // namespace gt
