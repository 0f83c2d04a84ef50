#include "worker/trainer/checkpoint/format/best.h"

#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "worker/trainer/checkpoint/format/files.h"

namespace gt::trainer {
namespace {

constexpr char kName[] = "best.json", kTemporary[] = ".tmp-best.json";
constexpr int64_t kMostBytes = 4096;

}  // namespace

BestCheckpoint ReadBest(const std::string& attempt_folder) {
  Result<std::string> text = ReadWhole(attempt_folder + "/" + kName, kMostBytes);
  if (!text.ok()) return {};
  auto json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return {};
  auto step = json.find("step"), accuracy = json.find("accuracy");
  if (step == json.end() || !step->is_number_integer()) return {};
  if (accuracy == json.end() || !accuracy->is_number()) return {};
  return {.step = step->get<int64_t>(), .accuracy = accuracy->get<double>()};
}

Status WriteBest(const std::string& attempt_folder, const BestCheckpoint& best) {
  std::string text = nlohmann::json{{"step", best.step}, {"accuracy", best.accuracy}}.dump() + "\n";
  std::remove((attempt_folder + "/" + kTemporary).c_str());
  GT_ASSIGN_OR_RETURN(DigestedFile file, DigestedFile::Create(attempt_folder, kTemporary));
  GT_RETURN_IF_ERROR(file.Write(text.data(), text.size()));
  GT_RETURN_IF_ERROR(file.Finish().status());
  if (std::rename((attempt_folder + "/" + kTemporary).c_str(), (attempt_folder + "/" + kName).c_str()) != 0)
    return ErrnoStatus(errno, attempt_folder + "/" + kName);
  return SyncFolder(attempt_folder);
}

}  // namespace gt::trainer
