#include "common/text/message_text.h"

#include <algorithm>
#include <map>

#include "common/base/units.h"
#include "common/text/field_rules.h"
#include "common/text/text.h"

namespace gt {
namespace {

namespace pb = google::protobuf;
using Field = pb::FieldDescriptor;

constexpr const char* kMask = "***";

Json TextJson(const std::string& text) { return IsUtf8(text) ? text : Printable(text); }

// One value of any field but a message; index -1: the singular one (its default when absent).
Json ScalarJson(const pb::Message& message, const Field& field, int index, const JsonOptions& options) {
  const pb::Reflection& r = *message.GetReflection();
  bool many = index >= 0;
  if (RulesOf(field).secret()) return kMask;
  switch (field.cpp_type()) {
    case Field::CPPTYPE_BOOL:
      return many ? r.GetRepeatedBool(message, &field, index) : r.GetBool(message, &field);
    case Field::CPPTYPE_INT32:
      return many ? r.GetRepeatedInt32(message, &field, index) : r.GetInt32(message, &field);
    case Field::CPPTYPE_UINT32:
      return many ? r.GetRepeatedUInt32(message, &field, index) : r.GetUInt32(message, &field);
    case Field::CPPTYPE_UINT64:
      return many ? r.GetRepeatedUInt64(message, &field, index) : r.GetUInt64(message, &field);
    case Field::CPPTYPE_DOUBLE:
      return many ? r.GetRepeatedDouble(message, &field, index) : r.GetDouble(message, &field);
    case Field::CPPTYPE_FLOAT:
      return many ? r.GetRepeatedFloat(message, &field, index) : r.GetFloat(message, &field);
    case Field::CPPTYPE_ENUM:
      return EnumText(many ? *r.GetRepeatedEnum(message, &field, index) : *r.GetEnum(message, &field));
    case Field::CPPTYPE_STRING:
      return TextJson(many ? r.GetRepeatedString(message, &field, index) : r.GetString(message, &field));
    case Field::CPPTYPE_INT64: {
      int64_t value = many ? r.GetRepeatedInt64(message, &field, index) : r.GetInt64(message, &field);
      bool seconds = options.seconds && RulesOf(field).unit() == gridtrain::v1::UNIT_DURATION;
      if (!seconds) return value;
      return value % 1000 == 0 ? Json(value / 1000) : Json(static_cast<double>(value) / 1000);
    }
    case Field::CPPTYPE_MESSAGE:
      break;
  }
  return nullptr;
}

std::string MapKey(const pb::Message& entry, const Field& key) {
  Json json = ScalarJson(entry, key, -1, {});
  return json.is_string() ? json.get<std::string>() : json.dump();
}

bool HasRequired(const pb::Descriptor& type) {
  for (int i = 0; i < type.field_count(); ++i)
    if (RulesOf(*type.field(i)).required()) return true;
  return false;
}

// A map has no order of its own; sorted, the same message always gives the same text.
std::map<std::string, Json> SortedMap(const pb::Message& message, const Field& field, const JsonOptions& options) {
  const pb::Descriptor& type = *field.message_type();
  std::map<std::string, Json> sorted;
  for (int i = 0; i < message.GetReflection()->FieldSize(message, &field); ++i) {
    const pb::Message& entry = message.GetReflection()->GetRepeatedMessage(message, &field, i);
    sorted[MapKey(entry, *type.map_key())] = ScalarJson(entry, *type.map_value(), -1, options);
  }
  return sorted;
}

Json MapJson(const pb::Message& message, const Field& field, const JsonOptions& options) {
  Json json = Json::object();
  for (auto& [key, value] : SortedMap(message, field, options)) json[key] = value;
  return json;
}

Json FieldJson(const pb::Message& message, const Field& field, const JsonOptions& options) {
  const pb::Reflection& r = *message.GetReflection();
  if (field.is_map()) return MapJson(message, field, options);
  if (!field.is_repeated())
    return field.cpp_type() == Field::CPPTYPE_MESSAGE ? ToJson(r.GetMessage(message, &field), options)
                                                      : ScalarJson(message, field, -1, options);
  Json json = Json::array();
  for (int i = 0; i < r.FieldSize(message, &field); ++i) {
    bool nested = field.cpp_type() == Field::CPPTYPE_MESSAGE;
    json.push_back(nested ? ToJson(r.GetRepeatedMessage(message, &field, i), options)
                          : ScalarJson(message, field, i, options));
  }
  return json;
}

// Whether an absent field stands for something.
bool HasDefault(const Field& field) {
  if (RulesOf(field).unsupported()) return false;
  if (field.is_repeated()) return true;
  return field.cpp_type() == Field::CPPTYPE_MESSAGE ? !HasRequired(*field.message_type()) : field.has_default_value();
}

// A scalar as YAML that means exactly this text: plain where that is safe, else in double quotes.
std::string YamlText(const std::string& text) {
  constexpr std::string_view kSafe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./@+-";
  bool plain = !text.empty() && text.find_first_not_of(kSafe) == std::string::npos && text[0] != '-' &&
               text[0] != '@' && text != "null" && text != "Null" && text != "NULL";
  bool address = text.find(' ') == std::string::npos && text.find_first_not_of("0123456789.:") == std::string::npos &&
                 text.find(": ") == std::string::npos && !text.empty() && text.back() != ':' && text.front() != ':';
  return plain || address ? text : Dump(TextJson(text));
}

std::string YamlScalar(const pb::Message& message, const Field& field, int index) {
  const pb::Reflection& r = *message.GetReflection();
  if (RulesOf(field).secret()) return kMask;
  if (field.cpp_type() == Field::CPPTYPE_INT64 && index < 0 && RulesOf(field).unit() != gridtrain::v1::UNIT_NONE) {
    int64_t value = r.GetInt64(message, &field);
    return RulesOf(field).unit() == gridtrain::v1::UNIT_BYTES ? FormatBytes(value) : FormatDuration(value);
  }
  Json json = ScalarJson(message, field, index, {});
  return json.is_string() ? YamlText(json.get<std::string>()) : json.dump();
}

class YamlWriter {
 public:
  explicit YamlWriter(const OriginMap& origins) : origins_(origins) {}

  void Message(const pb::Message& message, const std::string& path, const std::string& indent) {
    const pb::Descriptor& type = *message.GetDescriptor();
    for (int i = 0; i < type.field_count(); ++i)
      if (!RulesOf(*type.field(i)).unsupported())
        Field(message, *type.field(i), JoinPath(path, type.field(i)->name()), indent);
  }
  std::string Take() { return std::move(out_); }

 private:
  void Line(const std::string& text, const std::string& path) {
    constexpr size_t kCommentColumn = 40;
    auto it = origins_.find(path);
    std::string origin = it == origins_.end() ? "default" : ToString(it->second);
    out_ += text + std::string(std::max(kCommentColumn, DisplayWidth(text) + 2) - DisplayWidth(text), ' ') + "# " +
            origin + "\n";
  }

  void Field(const pb::Message& message, const pb::FieldDescriptor& field, const std::string& path,
             const std::string& indent) {
    const pb::Reflection& r = *message.GetReflection();
    bool present = field.is_repeated() ? r.FieldSize(message, &field) > 0 : r.HasField(message, &field);
    std::string head = indent + field.name() + ":";
    if (!present && (!HasDefault(field) || field.is_repeated()))
      out_ += indent + "# " + field.name() + ": (not set)\n";
    else if (field.is_map())
      Map(message, field, path, indent);
    else if (field.is_repeated())
      List(message, field, path, indent);
    else if (field.cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE)
      Line(head + " " + YamlScalar(message, field, -1), path);
    else
      out_ += head + "\n", Message(r.GetMessage(message, &field), path, indent + "  ");
  }

  void Map(const pb::Message& message, const pb::FieldDescriptor& field, const std::string& path,
           const std::string& indent) {
    out_ += indent + field.name() + ":\n";
    for (const auto& [key, value] : SortedMap(message, field, {}))
      Line(indent + "  " + YamlText(key) + ": " +
               (value.is_string() ? YamlText(value.get<std::string>()) : value.dump()),
           path + "." + key);
  }

  void List(const pb::Message& message, const pb::FieldDescriptor& field, const std::string& path,
            const std::string& indent) {
    out_ += indent + field.name() + ":\n";
    for (int i = 0; i < message.GetReflection()->FieldSize(message, &field); ++i) {
      std::string where = path + "[" + std::to_string(i) + "]";
      if (field.cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE)
        Line(indent + "  - " + YamlScalar(message, field, i), where);
      else
        out_ += indent + "  -\n",
            Message(message.GetReflection()->GetRepeatedMessage(message, &field, i), where, indent + "    ");
    }
  }

  const OriginMap& origins_;
  std::string out_;
};

}  // namespace

std::string ToYaml(const pb::Message& message, const OriginMap& origins) {
  YamlWriter writer(origins);
  writer.Message(message, "", "");
  return writer.Take();
}

Json ToJson(const pb::Message& message, const JsonOptions& options) {
  Json json = Json::object();
  const pb::Descriptor& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const Field& field = *type.field(i);
    const pb::Reflection& r = *message.GetReflection();
    bool present = field.is_repeated() ? r.FieldSize(message, &field) > 0 : r.HasField(message, &field);
    if (present || (options.defaults && HasDefault(field)))
      json[field.name()] = FieldJson(message, field, options);
    else if (options.nulls && !RulesOf(field).unsupported())
      json[field.name()] = nullptr;
  }
  return json;
}

std::string Dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace gt
