#include "common/text/access.h"

#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "common/os/file.h"
#include "common/text/text.h"

namespace gt {
namespace {

constexpr size_t kMaxAccessBytes = 64u << 10;

std::string Variable(const Environment& environment, const char* name) {
  const char* value = environment(name);
  return value ? value : "";
}

std::string TextOf(const nlohmann::json& json, const char* key) {
  auto it = json.find(key);
  return it != json.end() && it->is_string() ? it->get<std::string>() : "";
}

// The token travels as gRPC metadata, which is printable ASCII.
bool IsToken(const std::string& token) {
  for (char c : token)
    if (c <= ' ' || c > '~') return false;
  return !token.empty();
}

}  // namespace

Status WriteAccess(const std::string& path, const Access& access) {
  nlohmann::ordered_json json = {{"address", access.address},
                                 {"token", access.token},
                                 {"cluster_id", access.cluster_id},
                                 {"protocol", access.protocol}};
  return WriteFileDurably(path, json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n",
                          0600);
}

Result<Access> ReadAccess(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) return ErrnoStatus(errno, path);
  if (!S_ISREG(info.st_mode)) return Status(Code::kInvalidArgument, path + " is not a file; the access file is DIR/access");
  GT_ASSIGN_OR_RETURN(std::string text, ReadFile(path, kMaxAccessBytes));
  nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    return Status(Code::kDataLoss, path + " is not an access file: it should be JSON with address and token");
  if ((info.st_mode & 077) != 0)
    return Status(Code::kPermissionDenied,
                  path + " holds a token, but others than its owner may read it; run: chmod 600 " + path);
  Access access;
  access.address = TextOf(json, "address");
  access.token = TextOf(json, "token");
  access.cluster_id = TextOf(json, "cluster_id");
  if (auto it = json.find("protocol");
      it != json.end() && it->is_number_unsigned() && it->get<uint64_t>() <= UINT32_MAX)
    access.protocol = it->get<uint32_t>();
  if (access.address.empty() || !IsPrintable(access.address)) return Status(Code::kDataLoss, path + " has no address");
  if (!IsToken(access.token)) return Status(Code::kDataLoss, path + " has no usable token");
  return access;
}

std::vector<std::string> AccessCandidates(const Environment& environment) {
  if (std::string given = Variable(environment, "GT_ACCESS"); !given.empty()) return {given};
  std::string home = Variable(environment, "HOME"), config = Variable(environment, "XDG_CONFIG_HOME");
  std::vector<std::string> paths;
  if (config.empty() && !home.empty()) config = home + "/.config";
  if (!config.empty()) paths.push_back(config + "/gridtrain/access");
  paths.push_back("/etc/gridtrain/access");
  paths.push_back(DefaultDataDir("coordinator", environment, true) + "/access");
  if (!home.empty()) paths.push_back(DefaultDataDir("coordinator", environment, false) + "/access");
  return paths;
}

std::string DefaultDataDir(const std::string& program, const Environment& environment, bool root) {
  std::string home = Variable(environment, "HOME");
  return root || home.empty() ? "/var/lib/gridtrain/" + program : home + "/.local/share/gridtrain/" + program;
}

}  // namespace gt
