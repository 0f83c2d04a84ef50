#include "worker/launcher/disk.h"

#include <signal.h>
#include <unistd.h>

#include "common/os/clock.h"
#include "common/os/file.h"
#include "worker/launcher/error_file.h"

namespace gt::launcher {

namespace {
constexpr auto kRetryPause = std::chrono::milliseconds(1000);
}

Disk::Disk(Poller* poller, Paths paths, SpoolLimits limits, std::function<void(uint64_t)> on_advance)
    : poller_(poller), paths_(std::move(paths)), spool_(paths_.spool, limits), log_(paths_.log),
      on_advance_(std::move(on_advance)) {}

Disk::~Disk() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

Status Disk::Open(std::map<Uid, JournalEntry>* entries) {
  GT_RETURN_IF_ERROR(log_.Open());
  GT_RETURN_IF_ERROR(journal_.Open(paths_.journal, entries));
  GT_RETURN_IF_ERROR(spool_.Open());
  advanced_ = spool_.end();
  return OkStatus();
}

void Disk::Run() { thread_ = std::thread([this] { Main(); }); }

void Disk::Push(Op op) {
  bool first;
  {
    std::lock_guard lock(mutex_);
    first = queue_.empty();
    queue_.push_back(std::move(op));
  }
  if (first) wake_.notify_one();
}

void Disk::Start(Started start, std::vector<SpecFile> files, std::function<void(Status)> done) {
  Push(StartOp{std::move(start), std::move(files), std::move(done)});
}
void Disk::RecordKeeper(const Uid& uid, const KeeperId& keeper, std::function<void()> done) {
  Push(KeeperOp{uid, keeper, std::move(done)});
}
void Disk::Output(const Uid& uid, uint32_t rank, Stream stream, std::string bytes) {
  queued_bytes_.fetch_add(bytes.size(), std::memory_order_relaxed);
  Push(OutputOp{uid, rank, stream, std::move(bytes)});
}
void Disk::Exit(ExitRecord record, std::vector<std::string> error_files, bool keep_sizes,
                std::function<void(ExitRecord)> done) {
  Push(ExitOp{std::move(record), std::move(error_files), keep_sizes, std::move(done)});
}
void Disk::Forget(const Uid& uid) { Push(ForgetOp{uid}); }
void Disk::RemoveLater(std::string path) { Push(RemoveOp{std::move(path)}); }
void Disk::Acknowledge(uint64_t spool_offset) { Push(AckOp{spool_offset}); }
void Disk::Log(std::string line) { Push(LogOp{std::move(line)}); }

void Disk::Main() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  std::vector<Op> batch;
  while (Take(&batch)) {
    RunBatch(&batch);
    batch.clear();
  }
}

// Waits for work; exits that found no space are tried again each second.
bool Disk::Take(std::vector<Op>* batch) {
  std::unique_lock lock(mutex_);
  auto ready = [this] { return !queue_.empty() || ending_; };
  if (exits_.empty()) {
    wake_.wait(lock, ready);
  } else {
    wake_.wait_for(lock, kRetryPause, ready);
  }
  batch->swap(queue_);
  return !batch->empty() || !ending_;
}

void Disk::RunBatch(std::vector<Op>* batch) {
  now_ = ReadClock().mono;
  for (Op& op : *batch)
    if (auto* start = std::get_if<StartOp>(&op)) Do(*start);
  for (Op& op : *batch)
    if (!std::holds_alternative<StartOp>(op)) std::visit([this](auto& one) { Do(one); }, op);
  spool_.Flush(now_);
  Status written = journal_.Write();
  if (spool_.end() != advanced_) {
    advanced_ = spool_.end();
    early_.emplace(early_.begin(), [this, end = advanced_](const Status&) { on_advance_(end); }, OkStatus());
  }
  if (!early_.empty()) {
    poller_->Post([work = std::move(early_), written] {
      for (auto& [done, status] : work) done(written.ok() ? status : written);
    });
  }
  early_.clear();
  if (!exits_.empty()) FinishExits();
  log_.Flush();
  batches_.fetch_add(1, std::memory_order_relaxed);
}

void Disk::Do(StartOp& op) {
  Status status = journal_.AppendStart(op.start);
  for (const SpecFile& file : op.files) {
    if (!status.ok()) break;
    unlink(file.path.c_str());
    status = WriteFile(file.path, file.content, 0400);
    if (status.ok() && geteuid() == 0 && lchown(file.path.c_str(), file.uid, file.gid) != 0) {
      status = ErrnoStatus(errno, file.path);
    }
  }
  early_.emplace_back(std::move(op.done), status);
}

void Disk::Do(KeeperOp& op) {
  journal_.AppendKeeper(op.uid, op.keeper).ok();  // without it the sweep by environment still finds everything
  early_.emplace_back([done = std::move(op.done)](const Status&) { done(); }, OkStatus());
}

void Disk::Do(OutputOp& op) {
  spool_.Append(op.uid, op.rank, op.stream, op.bytes, now_);
  queued_bytes_.fetch_sub(op.bytes.size(), std::memory_order_relaxed);
}

void Disk::Do(ExitOp& op) {
  for (size_t i = 0; i < op.record.ranks.size(); ++i) {
    RankExit& rank = op.record.ranks[i];
    if (!op.keep_sizes) {
      SpoolWriter::Sizes sizes = spool_.Finish(op.record.uid, rank.rank, now_);
      rank.stdout_bytes = sizes.stdout_bytes;
      rank.stderr_bytes = sizes.stderr_bytes;
      rank.lost_bytes += sizes.lost;
    }
    if (i >= op.error_files.size() || op.error_files[i].empty()) continue;
    std::string message = TakeErrorFile(op.error_files[i]);
    if (rank.message.empty()) rank.message = std::move(message);
  }
  exits_.push_back(std::move(op));
}

void Disk::Do(ForgetOp& op) { journal_.AppendForget(op.uid).ok(); }
void Disk::Do(RemoveOp& op) { RemoveFile(op.path).ok(); }
void Disk::Do(AckOp& op) { spool_.Acknowledge(op.offset); }
void Disk::Do(LogOp& op) { log_.Write(op.line, ReadClock().wall); }

// Nothing of an exit is told before it is durable. What finds no space stays here and is tried again.
void Disk::FinishExits() {
  size_t written = 0;
  Status status;
  for (ExitOp& op : exits_) {
    if (!op.appended) status = journal_.AppendExit(op.record);
    if (!status.ok()) break;
    op.appended = true;  // in the page cache; a failed sync below must not append it twice
    ++written;
  }
  if (written == 0 || !journal_.Sync().ok()) {
    log_.Write("exits wait for the disk: " + status.message(), ReadClock().wall);
    return;
  }
  std::vector<ExitOp> finished(std::make_move_iterator(exits_.begin()),
                               std::make_move_iterator(exits_.begin() + static_cast<ptrdiff_t>(written)));
  exits_.erase(exits_.begin(), exits_.begin() + static_cast<ptrdiff_t>(written));
  auto shared = std::make_shared<std::vector<ExitOp>>(std::move(finished));
  poller_->Post([shared] {
    for (ExitOp& op : *shared) op.done(std::move(op.record));
  });
}

}  // namespace gt::launcher
