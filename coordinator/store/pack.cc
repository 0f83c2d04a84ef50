#include "coordinator/store/pack.h"

#include <bit>
#include <cstring>

namespace gt::pack {
namespace {

class Writer {
 public:
  explicit Writer(std::string begun = "") : out_(std::move(begun)) {}
  void Int(uint64_t value) {
    for (int i = 0; i < 8; i++) out_.push_back(static_cast<char>(value >> (8 * i)));
  }
  void String(std::string_view text) {
    for (int i = 0; i < 4; i++) out_.push_back(static_cast<char>(text.size() >> (8 * i)));
    out_.append(text);
  }
  std::string Take() { return std::move(out_); }

 private:
  std::string out_;
};

class Reader {
 public:
  explicit Reader(std::string_view in) : in_(in) {}
  uint64_t Int() { return Number(8); }
  std::string String() {
    uint64_t size = Number(4);
    if (size > in_.size()) return Fail(), "";
    std::string text(in_.substr(0, size));
    in_.remove_prefix(size);
    return text;
  }
  // Of elements that take at least one byte each.
  uint64_t Count() {
    uint64_t count = Number(8);
    if (count > in_.size()) return Fail(), 0;
    return count;
  }
  bool Done() const { return ok_ && in_.empty(); }
  bool more() const { return ok_ && !in_.empty(); }

 private:
  uint64_t Number(size_t bytes) {
    if (in_.size() < bytes) return Fail(), 0;
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++) value |= static_cast<uint64_t>(static_cast<unsigned char>(in_[i])) << (8 * i);
    in_.remove_prefix(bytes);
    return value;
  }
  void Fail() { ok_ = false, in_ = {}; }
  std::string_view in_;
  bool ok_ = true;
};

template <typename Id>
std::string PackIds(const std::vector<Id>& list) {
  Writer w;
  for (Id id : list) w.Int(id.value);
  return w.Take();
}

template <typename Id>
bool ReadIds(std::string_view blob, std::vector<Id>* list) {
  Reader r(blob);
  while (r.more()) list->push_back({static_cast<decltype(Id::value)>(r.Int())});
  return r.Done();
}

}  // namespace

std::string Numbers(const std::vector<Generation>& list) { return PackIds(list); }
bool ReadNumbers(std::string_view blob, std::vector<Generation>* list) { return ReadIds(blob, list); }
std::string Numbers(const std::vector<NodeId>& list) { return PackIds(list); }
bool ReadNumbers(std::string_view blob, std::vector<NodeId>* list) { return ReadIds(blob, list); }

std::string Strings(const std::vector<std::string>& list) {
  Writer w;
  for (const std::string& text : list) w.String(text);
  return w.Take();
}

bool ReadStrings(std::string_view blob, std::vector<std::string>* list) {
  Reader r(blob);
  while (r.more()) list->push_back(r.String());
  return r.Done();
}

std::string Times(const std::deque<Millis>& list) {
  Writer w;
  for (Millis at : list) w.Int(static_cast<uint64_t>(at));
  return w.Take();
}

bool ReadTimes(std::string_view blob, std::deque<Millis>* list) {
  Reader r(blob);
  while (r.more()) list->push_back(static_cast<Millis>(r.Int()));
  return r.Done();
}

std::string OfProgress(const Progress& progress) {
  if (progress.at_wall == 0) return {};  // nothing was ever reported
  Writer w;
  w.Int(progress.step);
  w.Int(progress.total_steps);
  w.Int(progress.samples);
  w.Int(static_cast<uint64_t>(progress.at_wall));
  w.String(progress.phase);
  for (const auto& [name, value] : progress.metrics) {
    w.String(name);
    w.Int(std::bit_cast<uint64_t>(value));
  }
  return w.Take();
}

bool ReadProgress(std::string_view blob, Progress* progress) {
  if (blob.empty()) return true;
  Reader r(blob);
  progress->step = r.Int();
  progress->total_steps = r.Int();
  progress->samples = r.Int();
  progress->at_wall = static_cast<Millis>(r.Int());
  progress->phase = r.String();
  while (r.more()) {
    std::string name = r.String();
    progress->metrics[name] = std::bit_cast<double>(r.Int());
  }
  return r.Done();
}

std::string OfInventory(const Inventory& inventory) {
  Writer w;
  w.Int(static_cast<uint64_t>(inventory.cpus));
  w.Int(static_cast<uint64_t>(inventory.memory));
  w.String(inventory.address);
  w.String(inventory.containment);
  w.Int(inventory.gpus.size());
  for (const Gpu& gpu : inventory.gpus) {
    w.String(gpu.uuid);
    w.String(gpu.model);
    w.Int(static_cast<uint64_t>(gpu.memory));
  }
  w.Int(inventory.labels.size());
  for (const auto& [key, value] : inventory.labels) {
    w.String(key);
    w.String(value);
  }
  return w.Take();
}

bool ReadInventory(std::string_view blob, Inventory* inventory) {
  Reader r(blob);
  inventory->cpus = static_cast<int32_t>(r.Int());
  inventory->memory = static_cast<int64_t>(r.Int());
  inventory->address = r.String();
  inventory->containment = r.String();
  for (uint64_t left = r.Count(); left > 0 && r.more(); left--) {
    Gpu gpu;
    gpu.uuid = r.String();
    gpu.model = r.String();
    gpu.memory = static_cast<int64_t>(r.Int());
    inventory->gpus.push_back(std::move(gpu));
  }
  for (uint64_t left = r.Count(); left > 0 && r.more(); left--) {
    std::string key = r.String();
    inventory->labels[key] = r.String();
  }
  return r.Done();
}

void AppendLine(const HistoryLine& line, std::string* blob) {
  Writer w(std::move(*blob));
  w.Int((line.task_index ? uint64_t{*line.task_index} + 1 : 0) << 32 | line.attempt);
  w.String(line.kind);
  w.String(line.node);
  w.String(line.text);
  *blob = w.Take();
}

bool ReadLines(std::string_view blob, std::vector<HistoryLine>* lines) {
  Reader r(blob);
  while (r.more()) {
    HistoryLine& line = lines->emplace_back();
    uint64_t of = r.Int();
    if (of >> 32 != 0) line.task_index = static_cast<uint32_t>((of >> 32) - 1);
    line.attempt = static_cast<uint32_t>(of);
    line.kind = r.String();
    line.node = r.String();
    line.text = r.String();
  }
  return r.Done();
}

std::string OfUid(const Uid& uid) {
  std::string out(16, '\0');
  for (int i = 0; i < 8; i++) {
    out[i] = static_cast<char>(uid.high >> (56 - 8 * i));
    out[8 + i] = static_cast<char>(uid.low >> (56 - 8 * i));
  }
  return out;
}

bool ReadUid(std::string_view blob, Uid* uid) {
  if (blob.size() != 16) return false;
  *uid = {};
  for (int i = 0; i < 8; i++) {
    uid->high = uid->high << 8 | static_cast<unsigned char>(blob[i]);
    uid->low = uid->low << 8 | static_cast<unsigned char>(blob[8 + i]);
  }
  return true;
}

}  // namespace gt::pack
