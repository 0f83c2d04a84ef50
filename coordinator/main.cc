// gt-coordinator: reads settings, starts a Coordinator, waits for the signal to stop.
#include <absl/synchronization/mutex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

#include "common/log/log.h"
#include "common/text/message_text.h"
#include "coordinator/config.h"
#include "coordinator/service/coordinator.h"
#include "coordinator/service/crash_record.h"

namespace {

constexpr int kExitFailed = 1, kExitUsage = 2;

int Fail(const gt::Status& status, int code) {
  std::fprintf(stderr, "gt-coordinator: %s\n", status.message().c_str());
  return code;
}

// Before any thread is made, so that all of them leave these signals to main.
sigset_t BlockStopSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return set;
}

// Debian builds abseil with its search for deadlocks switched on, and gRPC pays for it at every lock.
void StopSearchingDeadlocks() { absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore); }

// A connection is a file, and a large fleet has more than the 1,024 that a shell allows.
void AllowManyConnections() {
  rlimit files = {};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

int Run(const gridtrain::v1::CoordinatorConfig& config) {
  StopSearchingDeadlocks();
  AllowManyConnections();
  sigset_t stop = BlockStopSignals();
  auto log = gt::Log::Open(static_cast<gt::LogLevel>(config.log().level()), config.log().file());
  if (!log.ok()) return Fail(log.status(), kExitFailed);
  gt::CoordinatorOptions options = gt::OptionsOf(config);
  options.version = GT_VERSION;
  options.fatal = [&log](const gt::Status& why) {
    (*log)->Error("the coordinator ends: what it knows can no longer be kept", {{"error", why.message()}});
    gt::NoteCrash();
    _exit(kExitFailed);
  };
  auto coordinator = gt::Coordinator::Start(std::move(options), log->get());
  if (!coordinator.ok()) return Fail(coordinator.status(), kExitFailed);
  if (gt::Status recorded = gt::RecordCrashes(config.data_dir()); !recorded.ok())
    (*log)->Error("crashes are not counted", {{"error", recorded.message()}});  // a full disk, say: no reason to stay away
  (*log)->Info("listening", {{"address", (*coordinator)->address()}, {"data_dir", config.data_dir()}, {"epoch", (*coordinator)->epoch()},
                             {"version", GT_VERSION}});
  int signal = 0;
  sigwait(&stop, &signal);
  (*log)->Info("stopping", {{"signal", signal}});
  coordinator->reset();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  auto line = gt::ParseCommandLine({argv + 1, argv + argc});
  if (!line.ok()) return Fail(line.status(), kExitUsage);
  using Action = gt::CommandLine::Action;
  if (line->action == Action::kHelp) return std::fputs(gt::HelpText().c_str(), stdout) < 0;
  if (line->action == Action::kVersion) return std::printf("gt-coordinator %s\n", GT_VERSION) < 0;
  auto settings = gt::LoadSettings(*line);
  if (!settings.ok()) return Fail(settings.status(), kExitUsage);
  if (line->action == Action::kPrintConfig)
    return std::fputs(gt::ToYaml(settings->config, settings->origins).c_str(), stdout) < 0;
  return Run(settings->config);
}
