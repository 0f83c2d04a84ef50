#include "worker/trainer/checkpoint/format/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>

namespace gt::trainer {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors are little-endian");
using Json = nlohmann::json;
constexpr uint64_t kMostHeaderBytes = 100 << 20;
constexpr int64_t kMostFileBytes = int64_t{1} << 40;

int64_t CountOf(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  return count;
}

Status ReadShape(const Json& json, std::vector<int64_t>* shape) {
  Status bad(Code::kDataLoss, "has a malformed shape");
  if (!json.is_array()) return bad;
  int64_t count = 1;
  for (const Json& size : json) {
    if (!size.is_number_unsigned()) return bad;
    uint64_t value = size.get<uint64_t>();
    if (value > uint64_t{1} << 40 || (value > 0 && count > (int64_t{1} << 40) / static_cast<int64_t>(value)))
      return bad;
    shape->push_back(static_cast<int64_t>(value));
    count *= static_cast<int64_t>(value);
  }
  return OkStatus();
}

// Where the values of a tensor lie in the data.
struct Extent {
  uint64_t begin = 0, end = 0;
  auto operator<=>(const Extent&) const = default;
};

// One entry of the header, checked against the data that there is.
Status ReadEntry(const Json& entry, uint64_t data_bytes, std::vector<int64_t>* shape, Extent* extent) {
  if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") || !entry.contains("data_offsets"))
    return Status(Code::kDataLoss, "lacks dtype, shape or data_offsets");
  if (entry["dtype"] != "F32") return Status(Code::kDataLoss, "is not F32");
  GT_RETURN_IF_ERROR(ReadShape(entry["shape"], shape));
  const Json& offsets = entry["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
      !offsets[1].is_number_unsigned())
    return Status(Code::kDataLoss, "has malformed offsets");
  *extent = {offsets[0].get<uint64_t>(), offsets[1].get<uint64_t>()};
  uint64_t bytes = static_cast<uint64_t>(CountOf(*shape)) * sizeof(float);
  if (extent->begin > extent->end || extent->end - extent->begin != bytes)
    return Status(Code::kDataLoss, "has offsets that do not fit its shape");
  if (extent->end > data_bytes) return Status(Code::kDataLoss, "ends beyond the file, which is torn");
  return OkStatus();
}

// Each byte of the data belongs to one tensor. Checked before any is copied: a small file cannot ask for much memory.
bool ShareOut(std::vector<Extent> extents, uint64_t data_bytes) {
  std::sort(extents.begin(), extents.end());
  uint64_t at = 0;
  for (const Extent& extent : extents) {
    if (extent.begin != at) return false;
    at = extent.end;
  }
  return at == data_bytes;
}

std::vector<float> ValuesIn(std::string_view data, const Extent& extent) {
  std::string_view bytes = data.substr(extent.begin, extent.end - extent.begin);
  std::vector<float> values(bytes.size() / sizeof(float));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

}  // namespace

Result<FileDigest> WriteSafetensors(const std::string& folder, const std::string& name,
                                    const std::vector<TensorBytes>& tensors) {
  Json header = Json::object();
  uint64_t offset = 0;
  for (const TensorBytes& tensor : tensors) {
    uint64_t end = offset + static_cast<uint64_t>(CountOf(tensor.shape)) * sizeof(float);
    header[tensor.name] = {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // data starts aligned
  uint64_t length = text.size();
  GT_ASSIGN_OR_RETURN(DigestedFile file, DigestedFile::Create(folder, name));
  GT_RETURN_IF_ERROR(file.Write(&length, sizeof length));
  GT_RETURN_IF_ERROR(file.Write(text.data(), text.size()));
  for (const TensorBytes& tensor : tensors)
    GT_RETURN_IF_ERROR(file.Write(tensor.data, static_cast<size_t>(CountOf(tensor.shape)) * sizeof(float)));
  return file.Finish();
}

Result<std::map<std::string, StoredTensor>> ReadSafetensors(const std::string& path) {
  auto broken = [&](const std::string& what) { return Status(Code::kDataLoss, path + " " + what); };
  GT_ASSIGN_OR_RETURN(std::string file, ReadWhole(path, kMostFileBytes));
  uint64_t length = 0;
  if (file.size() < sizeof length) return broken("is too short for a header");
  std::memcpy(&length, file.data(), sizeof length);
  if (length > kMostHeaderBytes || length > file.size() - sizeof length) return broken("is torn within its header");
  Json header = Json::parse(file.begin() + sizeof length,
                            file.begin() + static_cast<std::ptrdiff_t>(sizeof length + length), nullptr,
                            /*allow_exceptions=*/false);
  if (!header.is_object()) return broken("has a header that is not JSON");
  std::string_view data = std::string_view(file).substr(sizeof length + length);
  std::map<std::string, StoredTensor> tensors;
  std::map<std::string, Extent> extents;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    Status status = ReadEntry(entry, data.size(), &tensors[name].shape, &extents[name]);
    if (!status.ok()) return broken(": tensor " + name + " " + status.message());
  }
  std::vector<Extent> all;
  for (const auto& [name, extent] : extents) all.push_back(extent);
  if (!ShareOut(all, data.size()))
    return broken("holds " + std::to_string(data.size()) + " bytes of data that its tensors do not share out among them");
  for (auto& [name, tensor] : tensors) tensor.values = ValuesIn(data, extents.at(name));
  return tensors;
}

}  // namespace gt::trainer
