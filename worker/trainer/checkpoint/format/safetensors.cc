#include "worker/trainer/checkpoint/format/safetensors.h"

#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

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

// One entry of the header, checked against the data that there is.
Status ReadEntry(const Json& entry, const std::string& data, uint64_t* total_bytes, StoredTensor* out) {
  if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") || !entry.contains("data_offsets"))
    return Status(Code::kDataLoss, "lacks dtype, shape or data_offsets");
  if (entry["dtype"] != "F32") return Status(Code::kDataLoss, "is not F32");
  GT_RETURN_IF_ERROR(ReadShape(entry["shape"], &out->shape));
  const Json& offsets = entry["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
      !offsets[1].is_number_unsigned())
    return Status(Code::kDataLoss, "has malformed offsets");
  uint64_t begin = offsets[0].get<uint64_t>(), end = offsets[1].get<uint64_t>();
  uint64_t bytes = static_cast<uint64_t>(CountOf(out->shape)) * sizeof(float);
  if (begin > end || end - begin != bytes) return Status(Code::kDataLoss, "has offsets that do not fit its shape");
  if (end > data.size()) return Status(Code::kDataLoss, "ends beyond the file, which is torn");
  *total_bytes += bytes;
  out->values.resize(bytes / sizeof(float));
  std::memcpy(out->values.data(), data.data() + begin, bytes);
  return OkStatus();
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
  std::string data = file.substr(sizeof length + length);
  std::map<std::string, StoredTensor> tensors;
  uint64_t total = 0;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    Status status = ReadEntry(entry, data, &total, &tensors[name]);
    if (!status.ok()) return broken(": tensor " + name + " " + status.message());
  }
  if (total != data.size())
    return broken("holds " + std::to_string(data.size()) + " bytes of data, not " + std::to_string(total));
  return tensors;
}

}  // namespace gt::trainer
