#include "worker/runtime/node_dir.h"

#include <nlohmann/json.hpp>

#include "common/os/file.h"
#include "common/os/random.h"

namespace gt::worker {
namespace {

struct Identity {
  Uid uid;
  std::string name;
};

Result<Identity> Parse(const std::string& text, const std::string& path) {
  nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  Status broken(Code::kDataLoss, path + " is damaged; without it this node would be another one. Restore it, or remove "
                                        "it when nothing runs here");
  if (!json.is_object() || !json["uid"].is_string() || !json["name"].is_string()) return broken;
  std::optional<Uid> uid = UidFromHex(json["uid"].get<std::string>());
  if (!uid) return broken;
  return Identity{*uid, json["name"].get<std::string>()};
}

Result<Identity> ReadOrMake(const std::string& path, const std::string& name, const std::string& default_name) {
  Result<std::string> text = ReadFile(path, 65536);
  if (!text.ok() && text.status().code() != Code::kNotFound) return text.status();
  Identity identity;
  if (text.ok()) {
    GT_ASSIGN_OR_RETURN(identity, Parse(*text, path));
    if (name.empty() || name == identity.name) return identity;
    identity.name = name;
  } else {
    GT_ASSIGN_OR_RETURN(identity.uid, RandomUid());
    identity.name = name.empty() ? default_name : name;
  }
  nlohmann::json json{{"uid", ToHex(identity.uid)}, {"name", identity.name}};
  std::string rendered = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  GT_RETURN_IF_ERROR(WriteFileDurably(path, rendered, 0600));
  return identity;
}

}  // namespace

Result<NodeDir> NodeDir::Open(const std::string& path, const std::string& name, const std::string& default_name) {
  NodeDir dir;
  dir.path_ = path;
  GT_RETURN_IF_ERROR(MakeDirectories(path, 0755).WithContext("cannot make the data directory"));
  Result<Fd> lock = LockFile(path + "/lock");
  if (!lock.ok() && lock.status().code() == Code::kFailedPrecondition) {
    return Status(Code::kFailedPrecondition, "another gt-worker runs on " + path + ": one data directory a worker");
  }
  if (!lock.ok()) return lock.status().WithContext("cannot use the data directory");
  dir.lock_ = std::move(lock).value();
  GT_ASSIGN_OR_RETURN(Identity identity, ReadOrMake(path + "/node.json", name, default_name));
  dir.uid_ = identity.uid;
  dir.name_ = identity.name;
  Result<std::string> epoch = ReadFile(path + "/epoch", 64);
  if (epoch.ok()) dir.last_epoch_ = Epoch{std::strtoull(epoch->c_str(), nullptr, 10)};
  // The launcher makes its own; this one is for what it says before it can.
  GT_RETURN_IF_ERROR(MakeDirectories(dir.launcher_dir(), 0700).WithContext("cannot use the data directory"));
  return dir;
}

void NodeDir::SaveEpoch(Epoch epoch) {
  last_epoch_ = epoch;
  (void)WriteFileDurably(path_ + "/epoch", std::to_string(epoch.value) + "\n", 0600);  // on a full disk the old one stays
}

}  // namespace gt::worker
