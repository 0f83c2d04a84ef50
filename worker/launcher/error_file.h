// The error file that torchrun's @record leaves when a Python rank raises.
#pragma once
#include <string>
#include <string_view>

namespace gt::launcher {

// The message in it, at most 4 KiB; "" when there is none. Understands {"message": "text"} and
// {"message": {"message": "text", ...}}.
std::string ErrorFileMessage(std::string_view json);
// Reads and removes `path`, which belongs to the job user: follows no link, opens nothing but a regular file of at most 1 MiB.
std::string TakeErrorFile(const std::string& path);

}  // namespace gt::launcher
