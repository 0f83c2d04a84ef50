// gt-worker: reads its settings and runs a Worker. Exit codes: 0 told to stop, 1 cannot start, 2 wrong settings or
// usage, 3 refused by the coordinator.
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <iostream>
#include <thread>

#include "common/text/message_text.h"
#include "worker/runtime/config.h"
#include "worker/runtime/worker.h"

namespace gt::worker {
namespace {

constexpr int kCannotStart = 1, kUsage = 2, kRefused = 3;

struct CommandLine {
  ConfigSources sources;
  bool print_config = false;
};

// An exit code when there is nothing left to do.
std::optional<int> Parse(int argc, char** argv, CommandLine* line) {
  CLI::App app("gt-worker: offers this node to a GridTrain cluster and runs what its coordinator orders");
  app.add_option("--config", line->sources.file, "settings, as in configs/worker.yaml");
  app.add_option("--set", line->sources.sets, "one setting, a.b=value; may be repeated")->allow_extra_args(false);
  app.add_flag("--print-config", line->print_config, "show the effective settings and where each comes from");
  app.set_version_flag("--version", "gt-worker " GT_VERSION);
  std::string data_dir, node_name, access;
  app.add_option("--data-dir", data_dir, "data_dir");
  app.add_option("--node-name", node_name, "node_name");
  app.add_option("--access", access, "access");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  for (const auto& [flag, path, value] : {ConfigSources::Flag{"--data-dir", "data_dir", data_dir},
                                          ConfigSources::Flag{"--node-name", "node_name", node_name},
                                          ConfigSources::Flag{"--access", "access", access}})
    if (app.count(flag)) line->sources.flags.push_back({flag, path, value});
  return std::nullopt;
}

int Fail(int code, const std::string& message) {
  std::cerr << "gt-worker: " << message << "\n";
  return code;
}

// SIGTERM and SIGINT end the worker; its ranks run on.
class SignalWatch {
 public:
  SignalWatch() {
    sigemptyset(&signals_);
    for (int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals_, signal);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    signal(SIGPIPE, SIG_IGN);
  }
  ~SignalWatch() {
    done_ = true;
    if (thread_.joinable()) thread_.join();
  }
  void Start(Worker* worker) {
    thread_ = std::thread([this, worker] {
      timespec tick{0, 200'000'000};
      while (!done_)
        if (sigtimedwait(&signals_, nullptr, &tick) > 0) worker->Stop();
    });
  }

 private:
  sigset_t signals_;
  std::atomic<bool> done_{false};
  std::thread thread_;
};

std::string OwnPath() {
  char path[4096];
  ssize_t size = readlink("/proc/self/exe", path, sizeof path);
  return size > 0 ? std::string(path, static_cast<size_t>(size)) : "gt-worker";
}

int Main(int argc, char** argv) {
  CommandLine line;
  if (std::optional<int> code = Parse(argc, argv, &line)) return *code;
  Result<LoadedConfig> loaded = LoadConfig(line.sources);
  if (!loaded.ok()) return Fail(kUsage, loaded.status().message());
  FillDefaults(&*loaded, OwnPath());
  if (line.print_config) {
    std::cout << ToYaml(loaded->config, loaded->origins);
    return 0;
  }
  const auto& log_config = loaded->config.log();
  Result<std::unique_ptr<Log>> log = Log::Open(static_cast<LogLevel>(log_config.level()), log_config.file());
  if (!log.ok()) return Fail(kCannotStart, log.status().message());
  SignalWatch signals;
  Result<std::unique_ptr<Worker>> worker = Worker::Create(loaded->config, log->get());
  if (!worker.ok()) return Fail(kCannotStart, worker.status().message());
  signals.Start(worker->get());
  Status end = (*worker)->Run();
  if (!end.ok()) return Fail(kRefused, "refused by the coordinator: " + end.message());
  (*log)->Info("worker leaves; ranks run on");
  return 0;
}

}  // namespace
}  // namespace gt::worker

int main(int argc, char** argv) { return gt::worker::Main(argc, argv); }
