// One attempt on this node, from Start to the exit record. Loop thread only.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "common/base/state_table.h"
#include "common/os/net.h"
#include "worker/launcher/gang.h"
#include "worker/launcher/output.h"
#include "worker/launcher/plan.h"
#include "worker/launcher/protocol.h"
#include "worker/launcher/rank_socket.h"

namespace gt::launcher {

// What attempts share. All of it outlives them.
struct AttemptContext {
  Poller* poller;
  Disk* disk;
  Containment* containment;
  RankSocket* rank_socket;
  OutputGate* gate;
  const NodeSetup* setup;
  std::function<void(const State&)> publish;
  std::function<void(const RankSaid&)> said;
};

class Attempt : private GangObserver, private RankListener {
 public:
  // Takes it: writes START, then prepares or starts it.
  Attempt(AttemptContext* context, Start start);
  // From the journal: ended, or to be cleaned up because its launcher is gone or the node has rebooted. `exit` of the
  // entry absent: `sizes` holds what is known of its ranks' output.
  Attempt(AttemptContext* context, const JournalEntry& entry, const std::vector<SpoolWriter::Sizes>& sizes);
  ~Attempt();
  Attempt(const Attempt&) = delete;

  void OnGo(const Go& go);
  void OnStop(const Stop& stop) { RequestStop(stop.grace, EndWhy::kStopped, stop.why); }
  void OnRearm(Millis remaining);
  void OnTell(uint32_t local_rank, const std::string& line);

  State state() const;
  bool ended() const { return step_ == Step::kEnded; }
  // The last line of each kind that ranks said.
  void ForEachSaid(const std::function<void(const RankSaid&)>& visit) const;

 private:
  enum class Step : uint8_t { kJournal, kWaiting, kLaunching, kRunning, kStopping, kVerifying, kRecording, kEnded };
  static const StateTable<Step, 8> kSteps;
  struct Rank {
    RankExit exit;
    bool started = false, exited = false, finished = false;
    bool down = false, restarting = false;  // failed, and the others may go on; told to be started again
    Generation born, joined;                // of its process; newest that it has joined, if it can re-form
    uint64_t step = 0, redone_samples = 0;  // as it said then
    Endpoint store;                         // where it listens
    int64_t peak = 0;
    std::unique_ptr<RankStream> out, err;
    uint64_t connection = 0;
    std::map<std::string, std::string> said;  // type -> line
  };

  // GangObserver
  void OnRankStarted(uint32_t local_rank, pid_t pid) override;
  void OnAllStarted() override;
  void OnLaunchFailed(uint32_t local_rank, const Status& why) override;
  void OnRankExited(uint32_t local_rank, const ExitStatus& status, int64_t peak_resident) override;
  // RankListener
  int OnHello(const RankHello& hello) override;
  void OnConnected(uint32_t local_rank, uint64_t connection, const RankHello& hello) override;
  void OnLine(uint32_t local_rank, const RankLine& line) override;
  void OnDisconnected(uint32_t local_rank, uint64_t connection) override;

  void Move(Step to) { kSteps.Move(&step_, to); }
  void WriteStart();
  void OnJournaled(const Status& status);
  void Launch();
  Status OpenOutputs(std::vector<RankPipes>* pipes);
  void RequestStop(Millis grace, EndWhy why, StopWhy stop_why);
  void BeginStop(Millis grace);
  void OnFailure(uint32_t local_rank);
  void NameFailure(uint32_t local_rank);

  // attempt_reform.cc
  bool CanReform(const RankExit& exit) const;
  void OnRankDown(uint32_t local_rank);
  void OnJoined(uint32_t local_rank, const std::string& line);
  void Restart(const Go& go);
  Status RestartRank(uint32_t local_rank, Generation born);
  void OnRestarted(uint32_t local_rank);
  void GiveUpReform();
  const Rank* FirstDown() const;
  Formation formation() const;
  void AllExited();
  void WaitForLeftovers();
  void Verify();
  void PollGone();
  void Finish();
  ExitRecord MakeRecord();
  void SendRendezvous(uint32_t local_rank);
  void SetWhy(EndWhy why, StopWhy stop_why, std::string message);
  void Log(const std::string& event);
  void Publish() { context_->publish(state()); }
  void CancelTimers();

  AttemptContext* context_;
  Start start_;
  Generation generation_;
  std::string key_;
  Step step_ = Step::kJournal;
  Endpoint endpoint_;        // of the rendezvous, once it is known
  bool endpoint_known_ = false;
  Endpoint hello_;           // where local rank 0 listens
  HeldPort held_;
  GangPlan plan_;
  std::unique_ptr<Gang> gang_;
  std::vector<Rank> ranks_;
  uint32_t started_ = 0, exited_ = 0;
  bool why_set_ = false;
  bool recovered_ = false;      // from the journal
  bool formed_ = false;         // every rank here has joined once, or replaces one that had
  bool stopped_early_ = false;  // told to stop while ranks were being started
  ExitRecord record_;        // filled bit by bit; complete when kEnded
  StopWhy stopping_ = StopWhy::kNone;
  Millis kill_at_ = kNever;  // mono; while kStopping
  Millis poll_pause_ = 1, verifying_since_ = 0;
  Poller::Timer kill_timer_ = 0, limit_timer_ = 0, stop_after_timer_ = 0, poll_timer_ = 0, reform_timer_ = 0;
};

}  // namespace gt::launcher
