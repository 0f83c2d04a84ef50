#include "common/text/yaml_fill.h"

#include <map>

#include "common/base/units.h"
#include "common/text/scalar_field.h"
#include "common/text/text.h"

namespace gt {

namespace pb = google::protobuf;

namespace {

// A parent path of the key `name` somewhere below `type`, "" when the key is nowhere: "epochs belongs under train".
std::string ParentOfKey(const pb::Descriptor& type, const std::string& name, const std::string& path, int depth) {
  if (depth > 8) return "";
  for (int i = 0; i < type.field_count(); ++i) {
    const pb::FieldDescriptor& field = *type.field(i);
    if (field.cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE || field.is_map()) continue;
    std::string below = JoinPath(path, field.name());
    if (field.message_type()->FindFieldByName(name)) return below;
    if (std::string found = ParentOfKey(*field.message_type(), name, below, depth + 1); !found.empty()) return found;
  }
  return "";
}

const char* KindName(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "nothing";
    case YamlNode::Kind::kScalar:
      return "a single value";
    case YamlNode::Kind::kSequence:
      return "a list";
    case YamlNode::Kind::kMap:
      return "keys and values";
  }
  return "";
}

std::string Example(const pb::FieldDescriptor& field) {
  return RulesOf(field).has_example() ? "; for example " + RulesOf(field).example() : std::string();
}

bool IsSubMessage(const pb::FieldDescriptor& field) {
  return field.cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE && !field.is_repeated();
}

YamlNode TextNode(std::string_view text, bool quoted) {
  YamlNode node;
  node.kind = YamlNode::Kind::kScalar;
  node.text = std::string(text);
  node.quoted = quoted;
  return node;
}

}  // namespace

void YamlFiller::Problem(int line, const std::string& path, std::string message) {
  if (problems_->size() < kMaxProblems)
    problems_->push_back({{source_, has_lines_ ? line : 0}, path, std::move(message)});
}

void YamlFiller::Record(int line, const std::string& path) { (*origins_)[path] = {source_, has_lines_ ? line : 0}; }

void YamlFiller::Forget(const std::string& path) {
  for (auto it = origins_->lower_bound(path); it != origins_->end() && it->first.compare(0, path.size(), path) == 0;) {
    bool below = it->first.size() == path.size() || it->first[path.size()] == '.' || it->first[path.size()] == '[';
    it = below ? origins_->erase(it) : std::next(it);
  }
}

void YamlFiller::FillRoot(Message* message, const YamlNode& node) {
  root_ = message->GetDescriptor();
  if (node.kind == YamlNode::Kind::kNull) return;
  if (node.kind != YamlNode::Kind::kMap)
    return Problem(node.line, "", std::string("expects keys and values, not ") + KindName(node));
  FillMessage(message, node, "");
}

void YamlFiller::FillMessage(Message* message, const YamlNode& node, const std::string& path) {
  std::map<std::string, int> seen;
  for (const YamlNode::Entry& entry : node.entries) {
    std::string where = JoinPath(path, entry.key);
    auto [first, fresh] = seen.emplace(entry.key, entry.line);
    const Field* field = message->GetDescriptor()->FindFieldByName(entry.key);
    if (!fresh)
      Problem(entry.line, Printable(where), "was given already in line " + std::to_string(first->second));
    else if (!field)
      UnknownKey(*message->GetDescriptor(), entry.key, entry.line, path);
    else
      FillField(message, *field, *entry.value, entry.line, where);
  }
}

void YamlFiller::UnknownKey(const pb::Descriptor& type, const std::string& key, int line, const std::string& parent) {
  std::vector<std::string> known;
  for (int i = 0; i < type.field_count(); ++i) known.push_back(type.field(i)->name());
  std::string message = "unknown key", where = Printable(JoinPath(parent, key));
  if (key == "<<")
    message = "merge keys are not supported";
  else if (std::string near = key.size() > 100 ? "" : Nearest(key, known); !near.empty())
    message += "; did you mean \"" + near + "\"?";
  else if (std::string elsewhere = ParentOfKey(*root_, key, "", 0); !elsewhere.empty())
    message += "; \"" + where.substr(where.rfind('.') + 1) + "\" belongs under \"" + elsewhere + "\"";
  else if (root_->FindFieldByName(key))
    message += "; \"" + key + "\" belongs at the top level";
  Problem(line, where, message);
}

void YamlFiller::FillField(Message* message, const Field& field, const YamlNode& node, int line,
                           const std::string& path) {
  if (RulesOf(field).unsupported()) return Problem(line, path, "is not supported yet");
  if (IsSubMessage(field)) {
    Record(line, path);
    return FillSubMessage(message, field, node, path);
  }
  Forget(path);
  Record(line, path);
  if (field.is_map())
    FillMap(message, field, node, path);
  else if (field.is_repeated())
    FillList(message, field, node, path);
  else
    FillScalar(message, field, node, path);
}

void YamlFiller::FillSubMessage(Message* message, const Field& field, const YamlNode& node, const std::string& path) {
  Message* below = message->GetReflection()->MutableMessage(message, &field);
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return;  // "resources:" with everything below it commented out
    case YamlNode::Kind::kMap:
      return FillMessage(below, node, path);
    case YamlNode::Kind::kSequence:
      break;
    case YamlNode::Kind::kScalar: {
      if (!RulesOf(field).has_scalar()) break;
      const Field* shorthand = field.message_type()->FindFieldByName(RulesOf(field).scalar());
      GT_ASSERT(shorthand != nullptr);
      Record(node.line, JoinPath(path, shorthand->name()));
      return FillScalar(below, *shorthand, node, path);
    }
  }
  Problem(node.line, path, std::string("expects keys and values, not ") + KindName(node) + Example(field));
}

void YamlFiller::FillList(Message* message, const Field& field, const YamlNode& node, const std::string& path) {
  message->GetReflection()->ClearField(message, &field);
  if (node.kind == YamlNode::Kind::kNull) return;
  if (node.kind != YamlNode::Kind::kSequence)
    return Problem(node.line, path, std::string("expects a list, not ") + KindName(node) + Example(field));
  for (size_t i = 0; i < node.items.size(); ++i) {
    const YamlNode& item = *node.items[i];
    std::string where = path + "[" + std::to_string(i) + "]";
    Record(item.line, where);
    if (field.cpp_type() != Field::CPPTYPE_MESSAGE) {
      FillScalar(message, field, item, where);
    } else {
      Message* below = message->GetReflection()->AddMessage(message, &field);
      if (item.kind == YamlNode::Kind::kMap)
        FillMessage(below, item, where);
      else
        Problem(item.line, where, std::string("expects keys and values, not ") + KindName(item));
    }
  }
}

void YamlFiller::FillMap(Message* message, const Field& field, const YamlNode& node, const std::string& path) {
  message->GetReflection()->ClearField(message, &field);
  if (node.kind == YamlNode::Kind::kNull) return;
  if (node.kind != YamlNode::Kind::kMap)
    return Problem(node.line, path, std::string("expects keys and values, not ") + KindName(node));
  std::map<std::string, int> seen;
  for (const YamlNode::Entry& entry : node.entries) {
    std::string where = JoinPath(path, entry.key);
    auto [first, fresh] = seen.emplace(entry.key, entry.line);
    Record(entry.line, where);
    if (!fresh)
      Problem(entry.line, Printable(where), "was given already in line " + std::to_string(first->second));
    else
      AddMapEntry(message, field, entry.key, *entry.value, where);
  }
}

void YamlFiller::AddMapEntry(Message* message, const Field& field, const std::string& key, const YamlNode& value,
                             const std::string& path) {
  const pb::Descriptor& type = *field.message_type();
  GT_ASSERT(type.map_key()->cpp_type() == Field::CPPTYPE_STRING);
  Message* entry = message->GetReflection()->AddMessage(message, &field);
  entry->GetReflection()->SetString(entry, type.map_key(), key);
  YamlNode text = value;  // a null in a string map is the text that stands there
  if (value.kind == YamlNode::Kind::kNull && type.map_value()->cpp_type() == Field::CPPTYPE_STRING)
    text = TextNode(value.text, true), text.line = value.line;
  FillScalar(entry, *type.map_value(), text, path);
}

void YamlFiller::FillScalar(Message* message, const Field& field, const YamlNode& node, const std::string& path) {
  std::string problem;
  if (node.kind == YamlNode::Kind::kScalar)
    problem = SetScalar(message, field, node.text, node.quoted);
  else if (node.kind != YamlNode::Kind::kNull)
    problem = std::string("expects ") + ScalarKind(field) + ", not " + KindName(node) + Example(field);
  else if (field.is_repeated() && field.cpp_type() == Field::CPPTYPE_STRING && !node.text.empty())
    problem = SetScalar(message, field, node.text, true);
  else
    problem = "has no value; leave it out or give it one" + Example(field);
  if (!problem.empty()) Problem(node.line, Printable(path), problem);
}

void YamlFiller::Assign(Message* message, const std::string& path, std::string_view value) {
  root_ = message->GetDescriptor();
  if (!IsUtf8(value) || !IsUtf8(path)) return Problem(0, "", "is not valid UTF-8");
  std::string rest = path, done;
  while (true) {
    size_t dot = rest.find('.');
    std::string key = rest.substr(0, dot);
    rest = dot == std::string::npos ? "" : rest.substr(dot + 1);
    const Field* field = message->GetDescriptor()->FindFieldByName(key);
    if (!field) return UnknownKey(*message->GetDescriptor(), key, 0, done);
    done = JoinPath(done, key);
    if (RulesOf(*field).unsupported()) return Problem(0, done, "is not supported yet");
    if (dot == std::string::npos) return AssignField(message, *field, value, done);
    if (field->is_map()) {
      RemoveMapEntry(message, *field, rest);
      Record(0, JoinPath(done, rest));
      return AddMapEntry(message, *field, rest, TextNode(value, true), JoinPath(done, rest));
    }
    if (!IsSubMessage(*field)) return Problem(0, done, "has no keys below it");
    Record(0, done);
    message = message->GetReflection()->MutableMessage(message, field);
  }
}

void YamlFiller::AssignField(Message* message, const Field& field, std::string_view value, const std::string& path) {
  bool plain = !field.is_repeated() && field.cpp_type() != Field::CPPTYPE_MESSAGE;
  if (plain) return FillField(message, field, TextNode(value, false), 0, path);
  YamlParse parse = ParseYaml(value);
  if (!parse.error.empty()) return Problem(0, path, parse.error);
  FillField(message, field, parse.root ? *parse.root : YamlNode(), 0, path);
}

void YamlFiller::RemoveMapEntry(Message* message, const Field& field, const std::string& key) {
  const pb::Reflection& r = *message->GetReflection();
  for (int i = 0, last = r.FieldSize(*message, &field) - 1; i <= last; ++i) {
    const Message& entry = r.GetRepeatedMessage(*message, &field, i);
    if (entry.GetReflection()->GetString(entry, field.message_type()->map_key()) != key) continue;
    r.SwapElements(message, &field, i, last);
    r.RemoveLast(message, &field);
    return;
  }
}

}  // namespace gt
