#include "worker/launcher/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "common/os/file.h"
#include "common/os/random.h"

namespace gt::launcher {

namespace {
struct Mount {
  std::string path, type, options;
};

std::vector<Mount> ListMounts() {
  std::vector<Mount> mounts;
  auto text = ReadFile("/proc/self/mounts");
  if (!text.ok()) return mounts;
  std::istringstream lines(*text);
  std::string device, rest;
  Mount mount;
  while (lines >> device >> mount.path >> mount.type >> mount.options && std::getline(lines, rest)) mounts.push_back(mount);
  return mounts;
}

bool HasWord(const std::string& list, const std::string& word, char separator) {
  std::istringstream words(list);
  for (std::string one; std::getline(words, one, separator);)
    if (one == word) return true;
  return false;
}

// Our own cgroup in a hierarchy: "/" or "/a/b". `controller` empty: cgroup2.
std::string OwnCgroup(const std::string& controller) {
  auto text = ReadFile("/proc/self/cgroup");
  if (!text.ok()) return "/";
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers = line.substr(first + 1, second - first - 1);
    bool match = controller.empty() ? line.starts_with("0::") : HasWord(controllers, controller, ',');
    if (match) return line.substr(second + 1);
  }
  return "/";
}

Status WriteTo(const std::string& path, const std::string& text) {
  GT_ASSIGN_OR_RETURN(Fd fd, OpenFile(path, O_WRONLY));
  return WriteAll(fd.get(), text).WithContext(path);
}

std::string ReadOr(const std::string& path, const std::string& otherwise) {
  auto text = ReadFile(path, 1 << 20);
  return text.ok() ? *text : otherwise;
}

// The number after `key` in "key value" lines.
int64_t FindNumber(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  std::string name;
  for (int64_t value; lines >> name >> value;)
    if (name == key) return value;
  return 0;
}

Status MakeOne(const std::string& path) {
  if (mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) return OkStatus();
  return ErrnoStatus(errno, path);
}

std::vector<std::string> Directories(const std::string& path) {
  std::vector<std::string> found;
  auto names = ListDirectory(path);
  if (!names.ok()) return found;
  for (const std::string& name : *names) {
    std::string child = path + "/" + name;
    struct stat info;
    if (lstat(child.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) found.push_back(child);
  }
  return found;
}

// With all that ranks, where they may, have made below it. The kernel refuses while a process lives in it.
bool RemoveTree(const std::string& path) {
  if (rmdir(path.c_str()) == 0 || errno == ENOENT) return true;
  for (const std::string& child : Directories(path)) RemoveTree(child);
  return rmdir(path.c_str()) == 0 || errno == ENOENT;
}

void KillMembers(const std::string& path) {
  if (WriteTo(path + "/cgroup.kill", "1").ok()) return;
  // Kernels before 5.14, and v1: the caller repeats until it is empty.
  std::istringstream lines(ReadOr(path + "/cgroup.procs", ""));
  for (pid_t pid; lines >> pid;)
    if (pid > 0) kill(pid, SIGKILL);
  for (const std::string& child : Directories(path)) KillMembers(child);
}

constexpr size_t kMaxFree = 1024;
}  // namespace

Result<std::unique_ptr<CgroupTree>> CgroupTree::Open(const std::string& root, const std::string& hash) {
  std::string parent = root;
  if (parent.empty()) {
    for (const Mount& mount : ListMounts())
      if (mount.type == "cgroup2") parent = mount.path + OwnCgroup("");
    if (parent.empty()) return Status(Code::kNotFound, "no cgroup2 is mounted");
  }
  while (parent.size() > 1 && parent.back() == '/') parent.pop_back();
  std::unique_ptr<CgroupTree> tree(new CgroupTree);
  tree->base_ = parent + "/gridtrain-" + hash;
  tree->FindMemoryController(parent, hash);  // may move us, so before the directory is made
  GT_RETURN_IF_ERROR(MakeOne(tree->base_));
  GT_ASSIGN_OR_RETURN(std::string random, RandomKey());
  tree->prefix_ = random.substr(0, 8) + "-";
  if (access((tree->base_ + "/cgroup.procs").c_str(), W_OK) != 0) return ErrnoStatus(errno, tree->base_ + "/cgroup.procs");
  if (tree->memory_version_ == 2 && !WriteTo(tree->base_ + "/cgroup.subtree_control", "+memory").ok()) {
    tree->memory_version_ = 0;
  }
  for (const std::string& base : {tree->base_, tree->memory_base_}) {
    std::vector<std::string> found = Directories(base);
    tree->leftovers_.insert(tree->leftovers_.end(), found.begin(), found.end());
  }
  return tree;
}

// cgroup2 hands controllers only to the children of a cgroup without processes: so we step into a leaf of our own first.
void CgroupTree::FindMemoryController(const std::string& parent, const std::string& hash) {
  if (HasWord(ReadOr(parent + "/cgroup.controllers", ""), "memory", ' ') ||
      ReadOr(parent + "/cgroup.controllers", "").find("memory") != std::string::npos) {
    std::string control = parent + "/cgroup.subtree_control";
    if (ReadOr(control, "").find("memory") == std::string::npos && !WriteTo(control, "+memory").ok()) {
      std::string leaf = parent + "/launcher";
      if (!MakeOne(leaf).ok() || !WriteTo(leaf + "/cgroup.procs", "0").ok() || !WriteTo(control, "+memory").ok()) return;
    }
    memory_version_ = 2;
    return;
  }
  for (const Mount& mount : ListMounts()) {
    if (mount.type != "cgroup" || !HasWord(mount.options, "memory", ',')) continue;
    std::string own = mount.path + OwnCgroup("memory");
    while (own.back() == '/') own.pop_back();
    memory_base_ = own + "/gridtrain-" + hash;
    if (!MakeOne(memory_base_).ok()) return;
    WriteTo(memory_base_ + "/memory.use_hierarchy", "1").ok();  // newer kernels know nothing else and may refuse
    memory_version_ = 1;
    return;
  }
}

CgroupTree::~CgroupTree() {
  for (const auto& slot : free_) rmdir(slot->path.c_str());
  rmdir(base_.c_str());
  if (memory_version_ == 1) rmdir(memory_base_.c_str());
}

Result<std::unique_ptr<CgroupTree::Slot>> CgroupTree::Take() {
  if (!free_.empty()) {
    auto slot = std::move(free_.back());
    free_.pop_back();
    return slot;
  }
  auto slot = std::make_unique<Slot>();
  slot->path = base_ + "/" + prefix_ + std::to_string(next_++);
  GT_RETURN_IF_ERROR(MakeOne(slot->path));
  GT_ASSIGN_OR_RETURN(slot->dir, OpenFile(slot->path, O_RDONLY | O_DIRECTORY));
  GT_ASSIGN_OR_RETURN(slot->events, OpenFile(slot->path + "/cgroup.events", O_RDONLY));
  return slot;
}

void CgroupTree::Kill(Slot* slot) {
  KillMembers(slot->path);
  slot->fresh_only = true;  // kernels with kill_seq (6.15, 6.18) kill at once what is cloned into a cgroup that was ever killed
}

bool CgroupTree::Empty(const Slot& slot) const {
  char text[256];
  ssize_t got = pread(slot.events.get(), text, sizeof text, 0);
  return got > 0 && std::string_view(text, static_cast<size_t>(got)).find("populated 0") != std::string_view::npos;
}

void CgroupTree::Return(std::unique_ptr<Slot> slot) {
  if (!slot->memory_path.empty()) rmdir(slot->memory_path.c_str());
  slot->memory_path.clear();
  if (reuse_ && !slot->fresh_only && free_.size() < kMaxFree) return free_.push_back(std::move(slot));
  if (!RemoveTree(slot->path)) leftovers_.push_back(slot->path);
}

Result<Fd> CgroupTree::LimitMemory(Slot* slot, int64_t bytes) {
  std::string limit = std::to_string(bytes);
  if (memory_version_ == 2) {
    slot->fresh_only = true;
    WriteTo(slot->path + "/memory.oom.group", "1").ok();  // a gang dies as one; older kernels lack it
    WriteTo(slot->path + "/memory.swap.max", "0").ok();   // absent without swap
    GT_RETURN_IF_ERROR(WriteTo(slot->path + "/memory.max", limit));
    return Fd();
  }
  slot->memory_path = memory_base_ + "/" + prefix_ + std::to_string(next_++);
  GT_RETURN_IF_ERROR(MakeOne(slot->memory_path));
  GT_RETURN_IF_ERROR(WriteTo(slot->memory_path + "/memory.limit_in_bytes", limit));
  WriteTo(slot->memory_path + "/memory.memsw.limit_in_bytes", limit).ok();  // absent without swap accounting
  return OpenFile(slot->memory_path + "/cgroup.procs", O_WRONLY);
}

CgroupTree::Memory CgroupTree::ReadMemory(const Slot& slot) const {
  if (memory_version_ == 0) return {};
  bool v1 = memory_version_ == 1;
  const std::string& path = v1 ? slot.memory_path : slot.path;
  Memory memory;
  memory.oom = FindNumber(ReadOr(path + (v1 ? "/memory.oom_control" : "/memory.events"), ""), "oom_kill") > 0;
  memory.peak = std::strtoll(ReadOr(path + (v1 ? "/memory.max_usage_in_bytes" : "/memory.peak"), "0").c_str(), nullptr, 10);
  return memory;
}

void CgroupTree::KillLeftovers() {
  for (const std::string& path : leftovers_) KillMembers(path);
}

bool CgroupTree::RemoveLeftovers() {
  std::erase_if(leftovers_, [](const std::string& path) { return RemoveTree(path); });
  return leftovers_.empty();
}

}  // namespace gt::launcher
