#include "worker/trainer/checkpoint/format/manifest.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace gt::trainer {
namespace {

using Json = nlohmann::json;
constexpr int kFormat = 1;
constexpr int64_t kMostManifestBytes = 1 << 20;

bool Read(const Json& json, const char* key, std::string* out) {
  auto it = json.find(key);
  if (it == json.end() || !it->is_string()) return false;
  *out = it->get<std::string>();
  return true;
}

bool Read(const Json& json, const char* key, int64_t* out) {
  auto it = json.find(key);
  if (it == json.end() || !it->is_number_integer()) return false;
  *out = it->get<int64_t>();
  return *out >= 0;
}

}  // namespace

std::string EncodeManifest(const Manifest& m) {
  Json files = Json::array();
  for (const FileDigest& file : m.files)
    files.push_back({{"name", file.name}, {"bytes", file.bytes}, {"sha256", file.sha256}});
  Json json = {{"format", kFormat},
               {"attempt_uid", m.attempt_uid},
               {"generation", m.generation},
               {"step", m.step},
               {"epoch", m.cursor.epoch},
               {"offset", m.cursor.offset},
               {"samples", m.samples},
               {"evaluated_epochs", m.evaluated_epochs},
               {"seed", m.seed},
               {"model", m.model},
               {"optimizer", m.optimizer},
               {"files", files}};
  return json.dump(1) + "\n";
}

Result<Manifest> ParseManifest(const std::string& text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return Status(Code::kDataLoss, "the manifest is torn");
  Manifest m;
  int64_t format = 0, generation = 0;
  if (!Read(json, "format", &format)) return Status(Code::kDataLoss, "the manifest has no format number");
  if (format != kFormat)
    return Status(Code::kDataLoss, "the manifest has the unknown format " + std::to_string(format));
  auto seed = json.find("seed");
  bool good = Read(json, "attempt_uid", &m.attempt_uid) && Read(json, "generation", &generation) &&
              Read(json, "step", &m.step) && Read(json, "epoch", &m.cursor.epoch) &&
              Read(json, "offset", &m.cursor.offset) && Read(json, "samples", &m.samples) &&
              Read(json, "evaluated_epochs", &m.evaluated_epochs) && Read(json, "model", &m.model) &&
              Read(json, "optimizer", &m.optimizer) && seed != json.end() && seed->is_number_unsigned() &&
              generation <= UINT32_MAX;
  auto files = json.find("files");
  if (!good || files == json.end() || !files->is_array()) return Status(Code::kDataLoss, "the manifest lacks a field");
  m.generation = static_cast<uint32_t>(generation);
  m.seed = seed->get<uint64_t>();
  for (const Json& entry : *files) {
    FileDigest file;
    if (!entry.is_object() || !Read(entry, "name", &file.name) || !Read(entry, "bytes", &file.bytes) ||
        !Read(entry, "sha256", &file.sha256) || file.name.find('/') != std::string::npos)
      return Status(Code::kDataLoss, "the manifest has a malformed file entry");
    m.files.push_back(std::move(file));
  }
  return m;
}

Result<Manifest> VerifyCheckpoint(const std::string& folder) {
  GT_ASSIGN_OR_RETURN(std::string text, ReadWhole(folder + "/" + kManifestName, kMostManifestBytes));
  Result<Manifest> manifest = ParseManifest(text);
  if (!manifest.ok()) return manifest.status().WithContext(folder);
  for (const FileDigest& wanted : manifest->files) {
    Result<FileDigest> found = DigestOf(folder, wanted.name);
    if (!found.ok()) return Status(Code::kDataLoss, found.status().message());  // also when it is not there at all
    if (found->bytes != wanted.bytes) {
      return Status(Code::kDataLoss, folder + "/" + wanted.name + " has " + std::to_string(found->bytes) +
                                         " bytes; its manifest says " + std::to_string(wanted.bytes));
    }
    if (found->sha256 != wanted.sha256)
      return Status(Code::kDataLoss, folder + "/" + wanted.name + " is corrupt: its digest is not the manifest's");
  }
  return manifest;
}

std::string StepFolder(int64_t step) { return "step-" + std::to_string(step); }

std::vector<int64_t> CompleteSteps(const std::string& attempt_folder) {
  std::vector<int64_t> steps;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(attempt_folder, error)) {
    std::string name = entry.path().filename();
    int64_t step = 0;
    if (name.rfind("step-", 0) != 0) continue;
    auto [end, bad] = std::from_chars(name.data() + 5, name.data() + name.size(), step);
    if (bad != std::errc() || end != name.data() + name.size()) continue;
    if (std::filesystem::exists(entry.path() / kManifestName, error)) steps.push_back(step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

}  // namespace gt::trainer
