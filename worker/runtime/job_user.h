// The account that ranks run as.
#pragma once
#include <string>

#include "common/base/status.h"

namespace gt::worker {

// kNotFound when there is no account `user` on this machine.
Status CheckUser(const std::string& user);
// Makes `user` the owner of a directory. kNotFound when there is no such account.
Status GiveToUser(const std::string& path, const std::string& user);

}  // namespace gt::worker
