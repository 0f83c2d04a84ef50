// Ids are types: two integers of different meaning cannot be swapped.
#pragma once
#include <compare>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace gt {

template <typename Tag, typename Rep = uint64_t>
struct Id {
  Rep value = 0;
  auto operator<=>(const Id&) const = default;
};

using JobId = Id<struct JobTag>;          // small, typed by people; 0 is none
using NodeId = Id<struct NodeTag>;        // row id of a node; 0 is none
using Generation = Id<struct GenerationTag, uint32_t>;  // one rendezvous of an attempt; the first is 1
using Epoch = Id<struct EpochTag>;        // rises at each start of the coordinator

// A task: shown as "42", or "42_7" for the 7th index of an array job.
struct TaskId {
  JobId job;
  uint32_t index = 0;
  auto operator<=>(const TaskId&) const = default;
};

// 128 random bits that name an attempt for ever: directories, cgroups, exit records and checkpoints carry it.
struct Uid {
  uint64_t high = 0;
  uint64_t low = 0;
  auto operator<=>(const Uid&) const = default;
  bool empty() const { return high == 0 && low == 0; }
};

std::string ToHex(const Uid& uid);                        // 32 lower-case hex digits
std::optional<Uid> UidFromHex(std::string_view text);     // nullopt unless exactly that
std::string ToString(const TaskId& id, bool array);       // "42" or "42_7"
// "42" -> {42, nullopt}, "42_7" -> {42, 7}; nullopt for anything else.
struct TaskSelector { JobId job; std::optional<uint32_t> index; };
std::optional<TaskSelector> ParseTaskSelector(std::string_view text);

}  // namespace gt

template <typename Tag, typename Rep>
struct std::hash<gt::Id<Tag, Rep>> {
  size_t operator()(const gt::Id<Tag, Rep>& id) const { return std::hash<Rep>()(id.value); }
};
template <>
struct std::hash<gt::TaskId> {
  size_t operator()(const gt::TaskId& id) const { return id.job.value * 0x9E3779B97F4A7C15ull ^ id.index; }
};
template <>
struct std::hash<gt::Uid> {  // random already
  size_t operator()(const gt::Uid& uid) const { return uid.low; }
};
