// The account that ranks run as.
#pragma once
#include <string>

#include "common/base/status.h"

namespace gt::worker {

// Makes `user` the owner of a directory. kNotFound when there is no such account.
Status GiveToUser(const std::string& path, const std::string& user);

}  // namespace gt::worker
