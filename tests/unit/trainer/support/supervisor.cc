#include "tests/unit/trainer/support/supervisor.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace gt::trainer::testing {
namespace {

int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int FreePort() {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  int port = 0;
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
      getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0)
    port = ntohs(address.sin_port);
  close(fd);
  return port;
}

}  // namespace

std::string MakeTempFolder() {
  char name[] = "/tmp/gt_ranks_XXXXXX";
  return mkdtemp(name);
}

std::string ReadText(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

pid_t Spawn(const std::string& spec_path, const Variables& variables, const std::string& output_path) {
  std::vector<std::string> storage{"PATH=/usr/bin:/bin", "OMP_NUM_THREADS=1"};
  for (const auto& [name, value] : variables) storage.push_back(name + "=" + value);
  std::vector<char*> environment;
  for (std::string& variable : storage) environment.push_back(variable.data());
  environment.push_back(nullptr);
  pid_t pid = fork();
  if (pid != 0) return pid;
  int fd = open(output_path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  dup2(fd, 1);
  dup2(fd, 2);
  execle(GT_TRAINER_BINARY, "gt-trainer", spec_path.c_str(), nullptr, environment.data());
  _exit(127);
}

int WaitExit(pid_t pid, int timeout_ms) {
  int64_t deadline = NowMs() + timeout_ms;
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (NowMs() > deadline) {
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      return -1;
    }
    poll(nullptr, 0, 2);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::vector<Variables> TorchrunVariables(int world, const Variables& more) {
  std::string port = std::to_string(FreePort());
  std::vector<Variables> all;
  for (int rank = 0; rank < world; ++rank) {
    Variables variables = more;
    variables["RANK"] = std::to_string(rank);
    variables["WORLD_SIZE"] = std::to_string(world);
    variables["MASTER_ADDR"] = "127.0.0.1";
    variables["MASTER_PORT"] = port;
    all.push_back(variables);
  }
  return all;
}

std::vector<RunResult> RunRanks(const std::string& spec_json, const std::vector<Variables>& ranks, int timeout_ms) {
  std::string folder = MakeTempFolder(), spec = folder + "/spec.json";
  std::ofstream(spec) << spec_json;
  std::vector<pid_t> pids;
  for (size_t i = 0; i < ranks.size(); ++i) pids.push_back(Spawn(spec, ranks[i], folder + "/out" + std::to_string(i)));
  std::vector<RunResult> results;
  for (size_t i = 0; i < ranks.size(); ++i) {
    int code = WaitExit(pids[i], timeout_ms);
    results.push_back({code, ReadText(folder + "/out" + std::to_string(i))});
  }
  std::filesystem::remove_all(folder);
  return results;
}

Supervisor::Supervisor(std::string spec_json, Variables variables)
    : folder_(MakeTempFolder()), variables_(std::move(variables)) {
  socket_path_ = folder_ + "/socket";
  spec_path_ = folder_ + "/spec.json";
  std::ofstream(spec_path_) << spec_json;
  listen_fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket_path_.c_str(), sizeof address.sun_path - 1);
  if (bind(listen_fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || listen(listen_fd_, 64) != 0)
    std::abort();
}

Supervisor::~Supervisor() {
  for (auto& [number, rank] : ranks_) {
    if (rank.pid <= 0) continue;
    kill(rank.pid, SIGKILL);
    waitpid(rank.pid, nullptr, 0);
  }
  close(listen_fd_);
  std::filesystem::remove_all(folder_);
}

void Supervisor::Start(int number) {
  Variables variables = variables_;
  variables["GT_SOCKET"] = socket_path_;
  variables["GT_KEY"] = "secret";
  variables["GT_ATTEMPT_UID"] = "00112233445566778899aabbccddeeff";
  variables["RANK"] = std::to_string(number);
  variables["WORLD_SIZE"] = "64";  // only the rendezvous says how many there are
  if (!variables.count("GT_CHECKPOINT_DIR")) variables["GT_CHECKPOINT_DIR"] = CheckpointFolder();
  RankProcess& rank = ranks_[number];
  rank = RankProcess{};
  rank.output_path = folder_ + "/out" + std::to_string(number);
  rank.pid = Spawn(spec_path_, variables, rank.output_path);
}

void Supervisor::Kill(int number, int signal) {
  RankProcess& rank = ranks_[number];
  kill(rank.pid, signal);
  if (signal != SIGKILL) return;
  waitpid(rank.pid, nullptr, 0);
  rank.pid = -1;
  rank.socket.Close();
  rank.store_port = 0;
}

void Supervisor::Pump() {
  for (int fd; (fd = accept4(listen_fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0;)
    strangers_.emplace_back(fd);
  for (LineSocket& stranger : strangers_) {
    std::string line;
    if (!stranger.open() || !stranger.Receive()) stranger.Close();
    if (!stranger.open() || !stranger.NextLine(&line)) continue;
    auto hello = nlohmann::json::parse(line, nullptr, false);
    if (hello.is_discarded() || hello.value("type", "") != "hello" || hello.value("key", "") != "secret") {
      stranger.Close();
      continue;
    }
    RankProcess& rank = ranks_[hello.value("rank", -1)];
    rank.store_addr = hello.value("store_addr", "");
    rank.store_port = hello.value("store_port", 0);
    rank.socket = std::move(stranger);
  }
  std::erase_if(strangers_, [](const LineSocket& stranger) { return !stranger.open(); });
  for (auto& [number, rank] : ranks_) {
    if (!rank.socket.open()) continue;
    bool alive = rank.socket.Receive();
    for (std::string line; rank.socket.NextLine(&line);) {
      auto message = nlohmann::json::parse(line, nullptr, false);
      if (message.is_object()) rank.messages.push_back(std::move(message));
    }
    if (!alive) rank.socket.Close();
  }
}

bool Supervisor::Until(const std::function<bool()>& done, int timeout_ms) {
  int64_t deadline = NowMs() + timeout_ms;
  for (;;) {
    Pump();
    if (done()) return true;
    if (NowMs() > deadline) return false;
    poll(nullptr, 0, 1);
  }
}

bool Supervisor::Form(int world, int host) {
  auto ready = [&] {
    for (int number = 0; number < world; ++number)
      if (ranks_[number].store_port == 0) return false;
    return true;
  };
  if (!Until(ready)) return false;
  ++generation_;
  for (int number = 0; number < world; ++number) {
    Send(number, {{"type", "rendezvous"}, {"generation", generation_}, {"rank", number}, {"world_size", world},
                  {"store_addr", ranks_[host].store_addr}, {"store_port", ranks_[host].store_port}});
  }
  return true;
}

void Supervisor::Send(int number, const nlohmann::json& message) { ranks_[number].socket.Send(message.dump() + "\n"); }

nlohmann::json Supervisor::Last(int number, const std::string& type) {
  const auto& messages = ranks_[number].messages;
  for (auto it = messages.rbegin(); it != messages.rend(); ++it)
    if (it->value("type", "") == type) return *it;
  return nullptr;
}

int Supervisor::ExitCode(int number, int timeout_ms) {
  RankProcess& rank = ranks_[number];
  int status = 0;
  bool stopped = false;
  bool ended = Until([&] {
    if (!stopped && !Last(number, "finished").is_null()) {
      Send(number, {{"type", "stop"}});
      stopped = true;
    }
    return waitpid(rank.pid, &status, WNOHANG) == rank.pid;
  }, timeout_ms);
  if (!ended) return -1;
  rank.pid = -1;
  Pump();
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string Supervisor::Output(int number) { return ReadText(ranks_[number].output_path); }

void Supervisor::CloseSocket() {
  for (auto& [number, rank] : ranks_) rank.socket.Close();
}

}  // namespace gt::trainer::testing
