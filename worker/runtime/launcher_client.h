// The connection to gt-launcher: starts one when none answers, tells the agent what it holds and what changes, carries
// out the agent's launcher actions in order. A thread of its own; commands and news travel in batches.
#pragma once
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "common/os/fd.h"
#include "worker/core/agent.h"
#include "worker/launcher/protocol.h"

namespace gt::worker {

struct LauncherOptions {
  std::string program;                  // path of gt-launcher
  std::string dir;                      // its --dir
  std::vector<std::string> arguments;   // further ones, given as they are
  KeyValues env;                        // all of its environment
  std::string node_address;
  std::string job_user;                 // owner of checkpoint directories when we are root
};

// Called on the client's thread. `inputs` may block: what the launcher says then waits in its socket.
struct LauncherEvents {
  std::function<void(std::vector<Input> inputs)> inputs;
  std::function<void(const std::string& spool_dir)> spool;    // at each connection
  std::function<void(uint64_t end)> spool_advance;
  std::function<void(const std::string& line)> log;
};

class LauncherClient {
 public:
  using Command = std::variant<StartAttempt, launcher::Go, launcher::Stop, launcher::Forget, launcher::RearmStopAfter,
                               launcher::SpoolAck>;

  LauncherClient(LauncherOptions options, LauncherEvents events);
  ~LauncherClient() { Stop(); }
  LauncherClient(const LauncherClient&) = delete;
  LauncherClient& operator=(const LauncherClient&) = delete;

  void Start();
  void Stop();  // joins; the launcher and its ranks carry on. May be repeated
  // After Stop, when no worker will follow: a launcher that we have started leaves, unless ranks live.
  void EndIdle();
  // Any thread, never blocks. Dropped while no launcher is connected: the agent says it again after the next snapshot.
  void Send(std::vector<Command> commands);

 private:
  void Run();
  Fd Open();                     // a connection, starting a launcher if need be; invalid once stopped
  void Serve(int socket);        // until the connection ends
  bool ReadSome(int socket, launcher::FrameParser* parser);
  bool TakeFrames(launcher::FrameParser* parser);
  void Encode(std::string* out);
  void MakeDirectory(const LauncherStart& start);
  void StartLauncher();
  void Reap();
  bool WaitFor(int milliseconds);  // false once stopped

  LauncherOptions options_;
  LauncherEvents events_;
  Fd wake_;
  std::thread thread_;
  std::mutex mutex_;              // guards commands_, stop_, connected_
  std::vector<Command> commands_;
  bool stop_ = false;
  bool connected_ = false;
  // The thread's own.
  bool in_snapshot_ = false;
  LauncherSnapshot snapshot_;
  std::vector<Input> news_;
  std::vector<int> children_;     // launchers started by us, to be reaped
};

}  // namespace gt::worker
