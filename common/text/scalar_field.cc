#include "common/text/scalar_field.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "common/base/units.h"
#include "common/text/field_rules.h"
#include "common/text/text.h"

namespace gt {
namespace {

namespace pb = google::protobuf;
using Field = pb::FieldDescriptor;

std::string Quote(const std::string& text) {
  constexpr size_t kShown = 60;
  return "\"" + Printable(FitColumns(text, kShown)) + (text.size() > kShown ? "…" : "") + "\"";
}

std::string Expects(const Field& field, const std::string& text, bool quoted) {
  const auto& rules = RulesOf(field);
  return "expects " + ScalarKind(field) + ", not " + (quoted ? "the quoted text " : "") + Quote(text) +
         (rules.has_example() ? "; for example " + rules.example() : "");
}

// Decimal digits with an optional minus; no plus, no leading zeros, no other bases.
template <typename Int>
std::string ReadWhole(const Field& field, const std::string& text, bool quoted, Int* value) {
  size_t first = text.starts_with('-') ? 1 : 0;
  bool digits = text.size() > first && text.find_first_not_of("0123456789", first) == std::string::npos;
  if (quoted || !digits) return Expects(field, text, quoted);
  if (text[first] == '0' && text.size() > first + 1) return Quote(text) + " has a leading zero; write it without";
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  if (error == std::errc() && end == text.data() + text.size()) return "";
  if (first == 1 && std::numeric_limits<Int>::min() == 0) return Quote(text) + " is negative";
  return Quote(text) + " is out of range";
}

std::string ReadNumber(const Field& field, const std::string& text, bool quoted, double* value) {
  bool plain = !text.empty() && text.find_first_not_of("0123456789+-.eE") == std::string::npos;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  if (quoted || !plain || end != text.data() + text.size() || error == std::errc::invalid_argument)
    return Expects(field, text, quoted);
  return error == std::errc() && std::isfinite(*value) ? "" : Quote(text) + " is out of range";
}

std::string ReadInt64(const Field& field, const std::string& text, bool quoted, int64_t* value) {
  auto unit = RulesOf(field).unit();
  if (unit == gridtrain::v1::UNIT_NONE) return ReadWhole(field, text, quoted, value);
  Result<int64_t> parsed = unit == gridtrain::v1::UNIT_BYTES ? ParseBytes(text) : ParseDuration(text);
  if (!parsed.ok())
    return Expects(field, text, false) + (RulesOf(field).has_example()        ? ""
                                          : unit == gridtrain::v1::UNIT_BYTES ? "; for example 2GiB"
                                                                              : "; for example 30s");
  *value = *parsed;
  return "";
}

std::string ReadEnum(const Field& field, const std::string& text, const pb::EnumValueDescriptor** value) {
  *value = EnumFromText(*field.enum_type(), text);
  if (*value) return "";
  std::vector<std::string> texts;
  for (int i = 0; i < field.enum_type()->value_count(); ++i) texts.push_back(EnumText(*field.enum_type()->value(i)));
  std::string near = text.size() > 100 ? "" : Nearest(text, texts);
  return Quote(text) + " is not one of its values; use " + EnumChoices(*field.enum_type()) +
         (near.empty() ? "" : " (did you mean \"" + near + "\"?)");
}

template <typename Value, typename Set, typename Add>
void Put(pb::Message* message, const Field& field, Value value, Set set, Add add) {
  const pb::Reflection* r = message->GetReflection();
  if (field.is_repeated())
    (r->*add)(message, &field, value);
  else
    (r->*set)(message, &field, value);
}

}  // namespace

std::string ScalarKind(const Field& field) {
  if (RulesOf(field).unit() == gridtrain::v1::UNIT_DURATION) return "a duration";
  if (RulesOf(field).unit() == gridtrain::v1::UNIT_BYTES) return "a size";
  switch (field.cpp_type()) {
    case Field::CPPTYPE_STRING:
      return "text";
    case Field::CPPTYPE_BOOL:
      return "true or false";
    case Field::CPPTYPE_DOUBLE:
      return "a number";
    case Field::CPPTYPE_ENUM:
      return EnumChoices(*field.enum_type());
    default:
      return "a whole number";
  }
}

std::string SetScalar(pb::Message* message, const Field& field, const std::string& text, bool quoted) {
  using R = pb::Reflection;
  std::string problem;
  switch (field.cpp_type()) {
    case Field::CPPTYPE_STRING:
      Put(message, field, text, &R::SetString, &R::AddString);
      return "";
    case Field::CPPTYPE_BOOL:
      if (quoted || (text != "true" && text != "false")) return Expects(field, text, quoted);
      Put(message, field, text == "true", &R::SetBool, &R::AddBool);
      return "";
    case Field::CPPTYPE_INT32: {
      int32_t value = 0;
      if (problem = ReadWhole(field, text, quoted, &value); problem.empty())
        Put(message, field, value, &R::SetInt32, &R::AddInt32);
      return problem;
    }
    case Field::CPPTYPE_UINT32: {
      uint32_t value = 0;
      if (problem = ReadWhole(field, text, quoted, &value); problem.empty())
        Put(message, field, value, &R::SetUInt32, &R::AddUInt32);
      return problem;
    }
    case Field::CPPTYPE_UINT64: {
      uint64_t value = 0;
      if (problem = ReadWhole(field, text, quoted, &value); problem.empty())
        Put(message, field, value, &R::SetUInt64, &R::AddUInt64);
      return problem;
    }
    case Field::CPPTYPE_INT64: {
      int64_t value = 0;
      if (problem = ReadInt64(field, text, quoted, &value); problem.empty())
        Put(message, field, value, &R::SetInt64, &R::AddInt64);
      return problem;
    }
    case Field::CPPTYPE_DOUBLE: {
      double value = 0;
      if (problem = ReadNumber(field, text, quoted, &value); problem.empty())
        Put(message, field, value, &R::SetDouble, &R::AddDouble);
      return problem;
    }
    case Field::CPPTYPE_ENUM: {
      const pb::EnumValueDescriptor* value = nullptr;
      if (problem = ReadEnum(field, text, &value); problem.empty())
        Put(message, field, value, &R::SetEnum, &R::AddEnum);
      return problem;
    }
    default:
      return "cannot be set from text";
  }
}

}  // namespace gt
