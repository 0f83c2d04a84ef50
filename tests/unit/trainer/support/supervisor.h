// A tiny launcher for tests: starts ranks of gt-trainer, speaks the rank contract with them, makes generations, kills.
#pragma once
#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "worker/trainer/contract/line_socket.h"

namespace gt::trainer::testing {

using Variables = std::map<std::string, std::string>;

// One process, its output in a file.
struct RankProcess {
  pid_t pid = -1;
  std::string output_path;
  LineSocket socket;                    // once it has said hello
  std::string store_addr;
  int store_port = 0;
  std::vector<nlohmann::json> messages;  // all that it said, in order
};

class Supervisor {
 public:
  // `variables` are given to every rank, beside those of the contract.
  Supervisor(std::string spec_json, Variables variables);
  ~Supervisor();  // kills what still runs

  const std::string& folder() const { return folder_; }
  std::string CheckpointFolder() const { return folder_ + "/ckpt"; }
  RankProcess& rank(int number) { return ranks_[number]; }

  void Start(int number);
  void Kill(int number, int signal);
  // Waits until ranks 0..world-1 have said hello, then sends them a new generation whose store is that of rank `host`.
  bool Form(int world, int host = 0);
  void Send(int number, const nlohmann::json& message);
  // Reads what ranks say until `done()` or the timeout.
  bool Until(const std::function<bool()>& done, int timeout_ms = 30000);
  // The newest message of a type from a rank; null when there is none.
  nlohmann::json Last(int number, const std::string& type);
  // Sends `stop` to those that have finished, and returns the exit code; -1 when it does not end in time.
  int ExitCode(int number, int timeout_ms = 30000);
  std::string Output(int number);
  void CloseSocket();  // as if the launcher died

 private:
  void Pump();
  std::string folder_, socket_path_, spec_path_;
  Variables variables_;
  int listen_fd_ = -1;
  uint32_t generation_ = 0;
  std::map<int, RankProcess> ranks_;
  std::vector<LineSocket> strangers_;
};

// Runs processes with just these variables to their end; returns exit codes and outputs.
struct RunResult {
  int code = -1;
  std::string output;  // stdout and stderr
};
std::vector<RunResult> RunRanks(const std::string& spec_json, const std::vector<Variables>& ranks,
                                int timeout_ms = 60000);
// Variables of `world` ranks as torchrun would give them, meeting at a free port.
std::vector<Variables> TorchrunVariables(int world, const Variables& more);

std::string MakeTempFolder();
pid_t Spawn(const std::string& spec_path, const Variables& variables, const std::string& output_path);
int WaitExit(pid_t pid, int timeout_ms);  // exit code, 128 + signal, or -1 (then it is killed)
std::string ReadText(const std::string& path);

}  // namespace gt::trainer::testing
