#include "worker/trainer/contract/messages.h"

#include <nlohmann/json.hpp>

namespace gt::trainer {
namespace {

using Json = nlohmann::json;

std::string Line(const Json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

bool ReadInt(const Json& json, const char* key, int64_t least, int64_t most, int64_t* out) {
  auto it = json.find(key);
  if (it == json.end() || !it->is_number_integer()) return false;
  *out = it->get<int64_t>();
  return *out >= least && *out <= most;
}

std::optional<Rendezvous> ParseRendezvous(const Json& json) {
  int64_t generation = 0, rank = 0, world_size = 0, port = 0;
  if (!ReadInt(json, "generation", 1, UINT32_MAX, &generation)) return std::nullopt;
  if (!ReadInt(json, "world_size", 1, 1 << 20, &world_size)) return std::nullopt;
  if (!ReadInt(json, "rank", 0, world_size - 1, &rank)) return std::nullopt;
  auto addr = json.find("store_addr");
  bool has_store = addr != json.end() && addr->is_string() && ReadInt(json, "store_port", 1, 65535, &port);
  if (!has_store && world_size > 1) return std::nullopt;  // one rank alone needs no store
  return Rendezvous{.generation = Generation{static_cast<uint32_t>(generation)},
                    .rank = static_cast<int>(rank),
                    .world_size = static_cast<int>(world_size),
                    .store_addr = has_store ? addr->get<std::string>() : "",
                    .store_port = static_cast<int>(port)};
}

}  // namespace

std::optional<LauncherMessage> ParseLauncherMessage(std::string_view line) {
  Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  auto type = json.find("type");
  if (type == json.end() || !type->is_string()) return std::nullopt;
  const std::string& name = type->get_ref<const std::string&>();
  using Kind = LauncherMessage::Kind;
  if (name == "preempt") {
    LauncherMessage preempt{Kind::kPreempt, {}};
    if (!ReadInt(json, "grace_s", 1, 1 << 20, &preempt.grace_s)) preempt.grace_s = 0;
    return preempt;
  }
  if (name == "stop") return LauncherMessage{Kind::kStop, {}};
  if (name == "diagnose") return LauncherMessage{Kind::kDiagnose, {}};
  if (name != "rendezvous") return std::nullopt;
  std::optional<Rendezvous> rendezvous = ParseRendezvous(json);
  if (!rendezvous) return std::nullopt;
  return LauncherMessage{Kind::kRendezvous, *rendezvous};
}

std::string Encode(const Hello& hello) {
  Json json = {{"type", "hello"}, {"key", hello.key}, {"pid", hello.pid}, {"store_addr", hello.store_addr},
               {"store_port", hello.store_port}};
  if (hello.rank) json["rank"] = *hello.rank;
  return Line(json);
}

std::string Encode(const Progress& progress) {
  return Line({{"type", "progress"}, {"step", progress.step}, {"total_steps", progress.total_steps},
               {"samples", progress.samples}, {"epoch", progress.epoch}, {"phase", progress.phase},
               {"metrics", progress.metrics}});
}

std::string EncodeJoined(Generation generation, int64_t step, int64_t redone_samples) {
  return Line({{"type", "joined"}, {"generation", generation.value}, {"step", step}, {"redone_samples", redone_samples},
               {"can_reform", true}});
}
std::string EncodeLost(Generation generation, const std::string& message) {
  return Line({{"type", "lost"}, {"generation", generation.value}, {"message", message}});
}
std::string EncodeCheckpoint(int64_t step, const std::string& path, int64_t bytes) {
  return Line({{"type", "checkpoint"}, {"step", step}, {"path", path}, {"bytes", bytes}});
}
std::string EncodeFinished(int64_t step) { return Line({{"type", "finished"}, {"step", step}}); }
std::string EncodeFailure(const std::string& message, const std::string& kind) {
  return Line({{"type", "failure"}, {"message", message}, {"traceback", ""}, {"kind", kind}});
}
std::string EncodeDiagnosis(const std::string& in_flight) {
  return Line({{"type", "diagnosis"}, {"in_flight", in_flight}});
}

}  // namespace gt::trainer
