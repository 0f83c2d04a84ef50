#include "worker/launcher/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "common/os/file.h"

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

// Ranks with a delegated cgroup may have made some below theirs.
void RemoveBelow(const std::string& path) {
  auto names = ListDirectory(path);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    std::string child = path + "/" + name;
    struct stat info;
    if (lstat(child.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) continue;
    RemoveBelow(child);
    rmdir(child.c_str());
  }
}
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
  if (access((tree->base_ + "/cgroup.procs").c_str(), W_OK) != 0) return ErrnoStatus(errno, tree->base_ + "/cgroup.procs");
  if (tree->memory_version_ == 2 && !WriteTo(tree->base_ + "/cgroup.subtree_control", "+memory").ok()) {
    tree->memory_version_ = 0;
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
  rmdir(base_.c_str());
  if (memory_version_ == 1) rmdir(memory_base_.c_str());
}

Result<Fd> CgroupTree::Make(const Uid& uid) {
  std::string path = Path(uid);
  GT_RETURN_IF_ERROR(MakeOne(path));
  return OpenFile(path, O_RDONLY | O_DIRECTORY);
}

void CgroupTree::Kill(const Uid& uid) {
  std::string path = Path(uid);
  if (WriteTo(path + "/cgroup.kill", "1").ok() || !Exists(path)) return;
  for (pid_t pid : Members(uid)) kill(pid, SIGKILL);  // kernels before 5.14: the caller repeats until Remove succeeds
}

bool CgroupTree::Remove(const Uid& uid) {
  std::string path = Path(uid);
  if (rmdir(path.c_str()) == 0 || errno == ENOENT) return true;
  if (ReadOr(path + "/cgroup.events", "populated 1").find("populated 0") == std::string::npos) return false;
  RemoveBelow(path);
  return rmdir(path.c_str()) == 0 || errno == ENOENT;
}

std::vector<Uid> CgroupTree::List() const {
  std::vector<Uid> uids;
  auto names = ListDirectory(base_);
  if (!names.ok()) return uids;
  for (const std::string& name : *names)
    if (auto uid = UidFromHex(name)) uids.push_back(*uid);
  return uids;
}

std::vector<pid_t> CgroupTree::Members(const Uid& uid) const {
  std::vector<pid_t> pids;
  std::istringstream lines(ReadOr(Path(uid) + "/cgroup.procs", ""));
  for (pid_t pid; lines >> pid;)
    if (pid > 0) pids.push_back(pid);
  return pids;
}

Result<Fd> CgroupTree::LimitMemory(const Uid& uid, int64_t bytes) {
  std::string path = MemoryPath(uid), limit = std::to_string(bytes);
  if (memory_version_ == 2) {
    WriteTo(path + "/memory.oom.group", "1").ok();  // a gang dies as one; older kernels lack it
    WriteTo(path + "/memory.swap.max", "0").ok();   // absent without swap
    GT_RETURN_IF_ERROR(WriteTo(path + "/memory.max", limit));
    return Fd();
  }
  GT_RETURN_IF_ERROR(MakeOne(path));
  GT_RETURN_IF_ERROR(WriteTo(path + "/memory.limit_in_bytes", limit));
  WriteTo(path + "/memory.memsw.limit_in_bytes", limit).ok();  // absent without swap accounting
  return OpenFile(path + "/cgroup.procs", O_WRONLY);
}

CgroupTree::Memory CgroupTree::ReadMemory(const Uid& uid) const {
  if (memory_version_ == 0) return {};
  std::string path = MemoryPath(uid);
  bool v1 = memory_version_ == 1;
  Memory memory;
  memory.oom = FindNumber(ReadOr(path + (v1 ? "/memory.oom_control" : "/memory.events"), ""), "oom_kill") > 0;
  memory.peak = std::strtoll(ReadOr(path + (v1 ? "/memory.max_usage_in_bytes" : "/memory.peak"), "0").c_str(), nullptr, 10);
  return memory;
}

void CgroupTree::RemoveMemory(const Uid& uid) {
  if (memory_version_ == 1) rmdir(MemoryPath(uid).c_str());
}

}  // namespace gt::launcher
