#include "common/text/field_rules.h"

#include <cmath>
#include <cstdio>
#include <set>

#include "common/base/units.h"
#include "common/text/text.h"

namespace gt {
namespace {

namespace pb = google::protobuf;
using gridtrain::v1::FieldRules;
using Field = pb::FieldDescriptor;

std::string Lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

// Length of the longest prefix that ends in '_' and that every value shares; 0 for an enum of one value.
size_t SharedPrefix(const pb::EnumDescriptor& type) {
  if (type.value_count() < 2) return 0;
  const std::string& first = type.value(0)->name();
  size_t end = first.rfind('_');
  for (; end != std::string::npos; end = end == 0 ? std::string::npos : first.rfind('_', end - 1)) {
    bool shared = true;
    for (int i = 1; i < type.value_count(); ++i)
      shared &= type.value(i)->name().compare(0, end + 1, first, 0, end + 1) == 0;
    if (shared) return end + 1;
  }
  return 0;
}

double NumberOf(const pb::Message& message, const Field& field, int index) {
  const pb::Reflection& r = *message.GetReflection();
  bool many = index >= 0;
  switch (field.cpp_type()) {
    case Field::CPPTYPE_INT32:
      return many ? r.GetRepeatedInt32(message, &field, index) : r.GetInt32(message, &field);
    case Field::CPPTYPE_UINT32:
      return many ? r.GetRepeatedUInt32(message, &field, index) : r.GetUInt32(message, &field);
    case Field::CPPTYPE_INT64:
      return static_cast<double>(many ? r.GetRepeatedInt64(message, &field, index) : r.GetInt64(message, &field));
    case Field::CPPTYPE_UINT64:
      return static_cast<double>(many ? r.GetRepeatedUInt64(message, &field, index) : r.GetUInt64(message, &field));
    case Field::CPPTYPE_DOUBLE:
      return many ? r.GetRepeatedDouble(message, &field, index) : r.GetDouble(message, &field);
    default:
      return 0;
  }
}

bool IsNumber(const Field& field) {
  switch (field.cpp_type()) {
    case Field::CPPTYPE_INT32:
    case Field::CPPTYPE_UINT32:
    case Field::CPPTYPE_INT64:
    case Field::CPPTYPE_UINT64:
    case Field::CPPTYPE_DOUBLE:
      return true;
    default:
      return false;
  }
}

class Checker {
 public:
  explicit Checker(std::vector<FieldProblem>* problems) : problems_(problems) {}

  void Message(const pb::Message& message, const std::string& path) {
    const pb::Descriptor& type = *message.GetDescriptor();
    for (int i = 0; i < type.field_count(); ++i) {
      const Field& field = *type.field(i);
      const pb::Reflection& r = *message.GetReflection();
      bool present = field.is_repeated() ? r.FieldSize(message, &field) > 0 : r.HasField(message, &field);
      const FieldRules& rules = RulesOf(field);
      if (!present && !rules.required()) continue;  // most of them: no path is made for these
      const std::string where = JoinPath(path, field.name());
      if (!present) {
        Add(where, "is required" + Example(rules));
        continue;
      }
      if (rules.unsupported()) {
        Add(where, "is not supported yet");
        continue;
      }
      if (field.is_map())
        Map(message, field, where);
      else if (field.is_repeated())
        Repeated(message, field, where);
      else
        One(message, field, -1, where);
    }
  }

 private:
  void Add(const std::string& path, std::string message) { problems_->push_back({path, std::move(message)}); }
  static std::string Example(const FieldRules& rules) {
    return rules.has_example() ? "; for example " + rules.example() : std::string();
  }

  void Map(const pb::Message& message, const Field& field, const std::string& where) {
    const FieldRules& rules = RulesOf(field);
    int size = message.GetReflection()->FieldSize(message, &field);
    if (rules.has_max_length() && size > rules.max_length())
      Add(where,
          "has " + std::to_string(size) + " entries; at most " + std::to_string(rules.max_length()) + " are allowed");
  }

  void Repeated(const pb::Message& message, const Field& field, const std::string& where) {
    Map(message, field, where);  // the same bound on entries
    int size = message.GetReflection()->FieldSize(message, &field);
    for (int i = 0; i < size; ++i) One(message, field, i, where + "[" + std::to_string(i) + "]");
  }

  void One(const pb::Message& message, const Field& field, int index, const std::string& where) {
    const pb::Reflection& r = *message.GetReflection();
    const FieldRules& rules = RulesOf(field);
    if (field.cpp_type() == Field::CPPTYPE_MESSAGE) {
      Message(index < 0 ? r.GetMessage(message, &field) : r.GetRepeatedMessage(message, &field, index), where);
    } else if (field.cpp_type() == Field::CPPTYPE_ENUM) {
      const auto* value = index < 0 ? r.GetEnum(message, &field) : r.GetRepeatedEnum(message, &field, index);
      if (value->options().GetExtension(gridtrain::v1::value_rules).unsupported())
        Add(where, "\"" + EnumText(*value) + "\" is not supported yet; use " + EnumChoices(*field.enum_type()));
    } else if (field.cpp_type() == Field::CPPTYPE_STRING) {
      std::string text = index < 0 ? r.GetString(message, &field) : r.GetRepeatedString(message, &field, index);
      if (index < 0 && rules.has_max_length() && text.size() > static_cast<size_t>(rules.max_length()))
        Add(where, "is " + std::to_string(text.size()) + " bytes long; at most " + std::to_string(rules.max_length()) +
                       " are allowed");
      if (field.type() == Field::TYPE_STRING && !IsUtf8(text)) Add(where, "is not valid UTF-8");
    } else if (IsNumber(field)) {
      Number(field, rules, NumberOf(message, field, index), where);
    }
  }

  void Number(const Field& field, const FieldRules& rules, double value, const std::string& where) {
    std::string shown = FormatInUnit(field, value);
    if (!std::isfinite(value))
      Add(where, "is not a finite number");
    else if (rules.has_min() && value < rules.min())
      Add(where, shown + " is too small; the least is " + FormatInUnit(field, rules.min()));
    else if (rules.has_max() && value > rules.max())
      Add(where, shown + " is too large; the most is " + FormatInUnit(field, rules.max()));
  }

  std::vector<FieldProblem>* problems_;
};

}  // namespace

const FieldRules& RulesOf(const Field& field) { return field.options().GetExtension(gridtrain::v1::rules); }

std::string EnumText(const pb::EnumValueDescriptor& value) {
  return Lower(value.name().substr(SharedPrefix(*value.type())));
}

const pb::EnumValueDescriptor* EnumFromText(const pb::EnumDescriptor& type, std::string_view text) {
  for (int i = 0; i < type.value_count(); ++i)
    if (EnumText(*type.value(i)) == text) return type.value(i);
  return nullptr;
}

std::string EnumChoices(const pb::EnumDescriptor& type) {
  std::vector<std::string> texts;
  for (int i = 0; i < type.value_count(); ++i)
    if (!type.value(i)->options().GetExtension(gridtrain::v1::value_rules).unsupported())
      texts.push_back(EnumText(*type.value(i)));
  std::string out;
  for (size_t i = 0; i < texts.size(); ++i) out += (i == 0 ? "" : i + 1 == texts.size() ? " or " : ", ") + texts[i];
  return out;
}

std::string FormatInUnit(const Field& field, double value) {
  constexpr double kExact = 9007199254740992.0;  // beyond 2^53, and below 0, no unit makes it easier to read
  bool whole = value >= 0 && value <= kExact;
  if (whole && RulesOf(field).unit() == gridtrain::v1::UNIT_DURATION) return FormatDuration(static_cast<Millis>(value));
  if (whole && RulesOf(field).unit() == gridtrain::v1::UNIT_BYTES) return FormatBytes(static_cast<int64_t>(value));
  char text[40];
  std::snprintf(text, sizeof text, field.cpp_type() == Field::CPPTYPE_DOUBLE ? "%.9g" : "%.0f", value);
  return text;
}

std::vector<FieldProblem> CheckRules(const pb::Message& message) {
  std::vector<FieldProblem> problems;
  Checker(&problems).Message(message, "");
  return problems;
}

std::string JoinPath(const std::string& parent, const std::string& name) {
  return parent.empty() ? name : parent + "." + name;
}

}  // namespace gt
