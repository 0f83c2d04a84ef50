#include "worker/trainer/metrics/board.h"

#include <chrono>
#include <cstdio>

namespace gt::trainer {
namespace {

double WallSeconds() {
  auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

}  // namespace

void Board::Add(int64_t step, const std::map<std::string, double>& scalars) {
  if (folder_.empty()) return;
  Status status;
  if (!file_) {
    Result<EventFile> file = EventFile::Create(folder_, WallSeconds(), step);
    if (file.ok()) file_.emplace(std::move(file).value());
    else status = file.status();
  }
  if (file_) status = file_->Add(WallSeconds(), step, scalars);
  if (status.ok()) return;
  std::fprintf(stderr, "gt-trainer: no TensorBoard events from here on: %s\n", status.message().c_str());
  folder_.clear();
}

std::string BoardFolder(const std::string& folder, const std::function<std::string(const char*)>& get) {
  std::string job = get("GT_JOB_ID"), index = get("GT_TASK_INDEX");
  if (folder.empty() || job.empty()) return folder;
  return folder + "/" + job + (index.empty() ? "" : "_" + index);
}

}  // namespace gt::trainer
