#include "worker/launcher/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/os/file.h"
#include "common/os/random.h"
#include "worker/launcher/cgroup_gang.h"
#include "worker/launcher/keeper_gang.h"

namespace gt::launcher {

Result<std::unique_ptr<Launcher>> Launcher::Make(const Options& options) {
  std::unique_ptr<Launcher> launcher(new Launcher(options));
  GT_RETURN_IF_ERROR(launcher->Init());
  return launcher;
}

Launcher::~Launcher() {
  attempts_.reset();
  disk_.reset();  // joins its thread before what it posts to goes
}

Status Launcher::Init() {
  GT_RETURN_IF_ERROR(MakeDirectories(options_.dir, 0700));
  if (chmod(options_.dir.c_str(), 0700) != 0) return ErrnoStatus(errno, options_.dir);
  auto lock = LockFile(options_.dir + "/lock");
  if (!lock.ok() && lock.status().code() == Code::kFailedPrecondition) {
    return Status(Code::kFailedPrecondition, "another gt-launcher is running on " + options_.dir);
  }
  if (!lock.ok()) return lock.status();
  lock_ = std::move(lock).value();
  if (ftruncate(lock_.get(), 0) != 0) return ErrnoStatus(errno, options_.dir + "/lock");
  GT_RETURN_IF_ERROR(WriteAllAt(lock_.get(), std::to_string(getpid()) + "\n", 0));  // for people and tests
  InheritedLimits limits;
  GT_RETURN_IF_ERROR(SetUpProcess(&limits));
  GT_RETURN_IF_ERROR(SetUpNode());
  GT_RETURN_IF_ERROR(poller_.Open());
  GT_ASSIGN_OR_RETURN(instance_, RandomUid());
  GT_ASSIGN_OR_RETURN(Spawner spawner, Spawner::Make(limits));
  spawner_ = std::make_unique<Spawner>(std::move(spawner));
  disk_ = std::make_unique<Disk>(&poller_,
                                 Disk::Paths{options_.dir + "/journal", options_.dir + "/spool", options_.dir + "/launcher.log"},
                                 options_.spool, [this](uint64_t end) {
                                   spool_end_ = end;
                                   server_->Broadcast(SpoolAdvance{end});
                                 });
  std::map<Uid, JournalEntry> entries;
  GT_RETURN_IF_ERROR(disk_->Open(&entries));
  spool_end_ = disk_->spool_end();
  GT_RETURN_IF_ERROR(SetUpContainment());
  rank_socket_ = std::make_unique<RankSocket>(&poller_);
  gate_ = std::make_unique<OutputGate>(&poller_, disk_.get());
  context_ = {&poller_, disk_.get(), containment_.get(), rank_socket_.get(), gate_.get(), &setup_,
              [this](const State& state) { server_->Broadcast(state); },
              [this](const RankSaid& said) { server_->Broadcast(said); }};
  attempts_ = std::make_unique<Attempts>(&context_);
  server_ = std::make_unique<WorkerServer>(
      &poller_, WorkerServer::Handlers{[this](std::string* frames) { Snapshot(frames); },
                                       [this](const Message& message, const std::function<void(const State&)>& answer) {
                                         attempts_->Handle(message, answer);
                                       }});
  poller_.AfterTurn([this] { server_->Flush(); });
  GT_RETURN_IF_ERROR(WatchSignals());
  std::map<std::pair<Uid, uint32_t>, SpoolWriter::Sizes> sizes;
  if (!entries.empty()) sizes = disk_->RecoverSizes();
  disk_->Run();
  attempts_->Restore(entries, sizes);
  GT_RETURN_IF_ERROR(rank_socket_->Open(setup_.rank_dir.socket()));
  disk_->Log("gt-launcher started, containment " + containment_->kind() + ", " + std::to_string(entries.size()) +
             " attempts remembered");
  return server_->Open(options_.dir + "/launcher.sock");
}

// What we change for ourselves, ranks get back as we found it.
Status Launcher::SetUpProcess(InheritedLimits* limits) {
  umask(077);
  for (int number = 1; number < SIGRTMIN; ++number) signal(number, SIG_DFL);
  signal(SIGPIPE, SIG_IGN);
  if (getrlimit(RLIMIT_NOFILE, &limits->files) != 0) return ErrnoStatus(errno, "getrlimit");
  rlimit raised{limits->files.rlim_max, limits->files.rlim_max};
  setrlimit(RLIMIT_NOFILE, &raised);
  // When memory runs out, the last thing that may die is what knows the state of the node.
  auto adjust = OpenFile("/proc/self/oom_score_adj", O_RDWR);
  if (adjust.ok()) {
    if (!WriteAll(adjust->get(), "-900").ok()) WriteAll(adjust->get(), "0").ok();
    auto now = ReadFile("/proc/self/oom_score_adj", 64);
    limits->reset_oom_score = now.ok() && *now != "0\n";
  }
  return OkStatus();
}

Status Launcher::SetUpNode() {
  GT_ASSIGN_OR_RETURN(setup_.boot_id, BootId());
  auto user = FindJobUser(options_.job_user, options_.allow_root_jobs);
  setup_.job_user_status = user.status();
  if (user.ok()) setup_.job_user = *user;
  GT_ASSIGN_OR_RETURN(setup_.rank_dir, MakeRankDir(options_.rank_dir, options_.dir, user.ok() ? &setup_.job_user : nullptr));
  setup_.work_dir = options_.work_dir.empty() ? setup_.rank_dir.work() : options_.work_dir;
  return OkStatus();
}

Status Launcher::SetUpContainment() {
  if (options_.containment != "keeper") {
    auto tree = CgroupTree::Open(options_.cgroup_root, HashOf(options_.dir));
    if (tree.ok()) {
      (*tree)->set_reuse(setup_.job_user.change);
      (*tree)->KillLeftovers();  // also of attempts that nobody remembers
      (*tree)->RemoveLeftovers();
      containment_ = std::make_unique<CgroupContainment>(&poller_, spawner_.get(), std::move(tree).value());
      return OkStatus();
    }
    if (options_.containment == "cgroup") return tree.status();
    disk_->Log("no cgroup can be written, so each attempt gets a keeper: " + tree.status().message());
  }
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // the orphans of a killed keeper come to us
  containment_ = std::make_unique<KeeperContainment>(
      &poller_, spawner_.get(), setup_.rank_dir.lasting ? setup_.rank_dir.socket() : "",
      [this](const Uid& uid, const KeeperId& keeper, std::function<void()> done) {
        disk_->RecordKeeper(uid, keeper, std::move(done));
      });
  return OkStatus();
}

Status Launcher::WatchSignals() {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&wanted, number);
  pthread_sigmask(SIG_BLOCK, &wanted, nullptr);
  signals_.Reset(signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_.valid()) return ErrnoStatus(errno, "signalfd");
  poller_.Add(signals_.get(), EPOLLIN, [this](uint32_t) { OnSignal(); });
  return OkStatus();
}

void Launcher::OnSignal() {
  signalfd_siginfo info;
  while (read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    std::string name = "signal " + std::to_string(info.ssi_signo);
    if (info.ssi_signo == SIGHUP) continue;
    if (size_t live = attempts_->live(); live > 0) {
      disk_->Log(name + " ignored: " + std::to_string(live) + " attempts live (SIGKILL would end them)");
      continue;
    }
    disk_->Log(name + ": leaving");
    poller_.Stop();
  }
}

void Launcher::Snapshot(std::string* frames) {
  AppendFrame(HelloReply{kLauncherProtocol, instance_, setup_.boot_id, containment_->kind(), options_.dir + "/spool"}, frames);
  attempts_->ForEach([&](const Attempt& attempt) {
    AppendFrame(attempt.state(), frames);
    attempt.ForEachSaid([&](const RankSaid& said) { AppendFrame(said, frames); });
  });
  AppendFrame(SpoolAdvance{spool_end_}, frames);
  AppendFrame(SnapshotEnd{}, frames);
}

void Launcher::Run() { poller_.Run(); }

}  // namespace gt::launcher
