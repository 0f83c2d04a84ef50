// The lines that a rank and its launcher exchange over GT_SOCKET: one JSON object per line, its kind in "type". Unknown
// fields and types are ignored on both sides; what is malformed is dropped.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/ids.h"

namespace gt::trainer {

// launcher -> rank: who forms the group of a generation, and where its store is.
struct Rendezvous {
  Generation generation;
  int rank = 0;
  int world_size = 1;
  std::string store_addr;
  int store_port = 0;
};

struct LauncherMessage {
  enum class Kind { kRendezvous, kPreempt, kStop, kDiagnose };
  Kind kind;
  Rendezvous rendezvous;  // kRendezvous only
  int64_t grace_s = 0;    // kPreempt: until the end; 0: not said
};

// nullopt for a line to ignore: not JSON, an unknown type, a field out of range.
std::optional<LauncherMessage> ParseLauncherMessage(std::string_view line);

// rank -> launcher. Each returns one line with its newline.
struct Hello {
  std::string key;
  int64_t pid = 0;
  std::optional<int> rank;
  std::string store_addr;
  int store_port = 0;
};
std::string Encode(const Hello& hello);

struct Progress {
  int64_t step = 0;
  int64_t total_steps = 0;
  int64_t samples = 0;
  int64_t epoch = 0;
  std::string phase;  // "train", "evaluate", "checkpoint", "form", "done"
  std::map<std::string, double> metrics;
};
std::string Encode(const Progress& progress);

// `redone_samples`: begun before this generation and to be done again in it.
std::string EncodeJoined(Generation generation, int64_t step, int64_t redone_samples);
std::string EncodeLost(Generation generation, const std::string& message);
std::string EncodeCheckpoint(int64_t step, const std::string& path, int64_t bytes);
std::string EncodeFinished(int64_t step);
std::string EncodeFailure(const std::string& message, const std::string& kind);
std::string EncodeDiagnosis(const std::string& in_flight);

}  // namespace gt::trainer
