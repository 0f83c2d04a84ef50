// The disk thread: the only one that touches files, so that a slow or full disk never stops the loop thread. It takes all
// that has been queued as one batch: journal starts first (answered as soon as the kernel has them: a reboot kills the
// ranks anyway), then output, then exits with one fdatasync for all of them.
//
// Every member may be called from any thread; answers are posted to the poller. Order is kept.
#pragma once
#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "worker/launcher/journal.h"
#include "worker/launcher/launcher_log.h"
#include "worker/launcher/poller.h"
#include "worker/launcher/spool.h"

namespace gt::launcher {

class Disk {
 public:
  struct Paths {
    std::string journal, spool, log;
  };
  // `on_advance` is called on the loop thread when the spool's end grows, before answers that depend on it.
  Disk(Poller* poller, Paths paths, SpoolLimits limits, std::function<void(uint64_t)> on_advance);
  ~Disk();  // writes what is queued, then stops

  // Before the thread runs: reads the journal and the spool.
  Status Open(std::map<Uid, JournalEntry>* entries);
  // Kept sizes of what earlier launchers spooled.
  std::map<std::pair<Uid, uint32_t>, SpoolWriter::Sizes> RecoverSizes() const { return spool_.Recover(); }
  uint64_t spool_end() const { return spool_.end(); }  // before the thread runs
  void Run();

  // A file that must be there before the attempt starts (mode 0400, given to owner).
  struct SpecFile {
    std::string path, content;
    uid_t uid = 0;
    gid_t gid = 0;
  };
  void Start(Started start, std::vector<SpecFile> files, std::function<void(Status)> done);
  void RecordKeeper(const Uid& uid, const KeeperId& keeper, std::function<void()> done);
  void Output(const Uid& uid, uint32_t rank, Stream stream, std::string bytes);
  // Fills in what only this thread knows: log sizes and the messages of error files (one path per rank, "" for none).
  // Answers when the record is durable; with a full disk that may take until there is space. With keep_sizes the sizes
  // stay as they are (attempts of an earlier launcher).
  void Exit(ExitRecord record, std::vector<std::string> error_files, bool keep_sizes, std::function<void(ExitRecord)> done);
  void Forget(const Uid& uid);
  void RemoveLater(std::string path);
  void Acknowledge(uint64_t spool_offset);
  void Log(std::string line);

  // Output that is queued and not in the spool yet, and how often a batch has been finished: backpressure.
  size_t queued_bytes() const { return queued_bytes_.load(std::memory_order_relaxed); }
  uint64_t batches() const { return batches_.load(std::memory_order_relaxed); }

 private:
  struct StartOp { Started start; std::vector<SpecFile> files; std::function<void(Status)> done; };
  struct KeeperOp { Uid uid; KeeperId keeper; std::function<void()> done; };
  struct OutputOp { Uid uid; uint32_t rank; Stream stream; std::string bytes; };
  struct ExitOp {
    ExitRecord record;
    std::vector<std::string> error_files;
    bool keep_sizes;
    std::function<void(ExitRecord)> done;
    bool appended = false;
  };
  struct ForgetOp { Uid uid; };
  struct RemoveOp { std::string path; };
  struct AckOp { uint64_t offset; };
  struct LogOp { std::string line; };
  using Op = std::variant<StartOp, KeeperOp, OutputOp, ExitOp, ForgetOp, RemoveOp, AckOp, LogOp>;

  void Push(Op op);
  void Main();
  bool Take(std::vector<Op>* batch);
  void RunBatch(std::vector<Op>* batch);
  void Do(StartOp& op);
  void Do(KeeperOp& op);
  void Do(OutputOp& op);
  void Do(ExitOp& op);
  void Do(ForgetOp& op);
  void Do(RemoveOp& op);
  void Do(AckOp& op);
  void Do(LogOp& op);
  void FinishExits();

  Poller* poller_;
  Paths paths_;
  Journal journal_;
  SpoolWriter spool_;
  LauncherLog log_;
  std::function<void(uint64_t)> on_advance_;
  uint64_t advanced_ = 0;
  Millis now_ = 0;
  std::vector<ExitOp> exits_;  // not durable yet; kept over batches while there is no space
  std::vector<std::pair<std::function<void(Status)>, Status>> early_;  // answers that need no sync; failed with the write

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Op> queue_;  // guarded by mutex_
  bool ending_ = false;    // guarded by mutex_
  std::atomic<size_t> queued_bytes_{0};
  std::atomic<uint64_t> batches_{0};
  std::thread thread_;
};

}  // namespace gt::launcher
