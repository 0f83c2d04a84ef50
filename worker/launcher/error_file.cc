#include "worker/launcher/error_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "common/base/cut_text.h"
#include "common/os/fd.h"

namespace gt::launcher {

namespace {
constexpr size_t kMaxMessage = 4096, kMaxFile = 1 << 20;
}

std::string ErrorFileMessage(std::string_view json) {
  auto root = nlohmann::json::parse(json, nullptr, false);
  if (!root.is_object()) return "";
  auto message = root.find("message");
  if (message == root.end()) return "";
  if (message->is_object()) {
    auto inner = message->find("message");
    if (inner == message->end()) return "";
    message = inner;
  }
  return message->is_string() ? std::string(CutText(message->get_ref<const std::string&>(), kMaxMessage)) : "";
}

std::string TakeErrorFile(const std::string& path) {
  Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd.valid()) return "";
  unlink(path.c_str());
  struct stat info;
  if (fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_size > static_cast<off_t>(kMaxFile)) return "";
  std::string text(static_cast<size_t>(info.st_size), '\0');
  ssize_t got = pread(fd.get(), text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return ErrorFileMessage(text);
}

}  // namespace gt::launcher
