// The access file: where a coordinator is and the token that it demands. The coordinator writes it at its start;
// workers and gtctl read it, so that nobody types an address. JSON: {"address", "token", "cluster_id", "protocol"}.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace gt {

struct Access {
  std::string address;  // "127.0.0.1:7411"
  std::string token;    // a secret: never logged, never on a command line
  std::string cluster_id;
  uint32_t protocol = 0;
  bool operator==(const Access&) const = default;
};

// Durably, for the owner's eyes only (0600).
Status WriteAccess(const std::string& path, const Access& access);
// kNotFound when it is not there, kPermissionDenied when others than its owner may read it (it holds a token),
// kDataLoss when it is not an access file. Unknown keys are ignored.
Result<Access> ReadAccess(const std::string& path);

// Where clients look, first match wins: $GT_ACCESS, the user's configuration, /etc, the data folders of a coordinator
// on this machine. `environment` is getenv or a stand-in.
using Environment = std::function<const char*(const char* name)>;
std::vector<std::string> AccessCandidates(const Environment& environment);
// The data folder of a program that got none: /var/lib/gridtrain/<program> for root, else
// ~/.local/share/gridtrain/<program>.
std::string DefaultDataDir(const std::string& program, const Environment& environment, bool root);

}  // namespace gt
