// The recursive half of MessageReader: one input's tree into a message. Internal to common/text.
#pragma once
#include <google/protobuf/message.h>

#include <string>
#include <string_view>
#include <vector>

#include "common/text/yaml_message.h"

namespace gt {

class YamlFiller {
 public:
  // `source` names the input in problems and origins; lines are recorded when `has_lines`.
  YamlFiller(std::string source, bool has_lines, std::vector<TextProblem>* problems, OriginMap* origins)
      : source_(std::move(source)), has_lines_(has_lines), problems_(problems), origins_(origins) {}

  void FillRoot(google::protobuf::Message* message, const YamlNode& node);
  // Sets what the dotted `path` names, making messages on the way.
  void Assign(google::protobuf::Message* message, const std::string& path, std::string_view value);

 private:
  using Message = google::protobuf::Message;
  using Field = google::protobuf::FieldDescriptor;

  void FillMessage(Message* message, const YamlNode& node, const std::string& path);
  void FillField(Message* message, const Field& field, const YamlNode& node, int line, const std::string& path);
  void FillSubMessage(Message* message, const Field& field, const YamlNode& node, const std::string& path);
  void FillList(Message* message, const Field& field, const YamlNode& node, const std::string& path);
  void FillMap(Message* message, const Field& field, const YamlNode& node, const std::string& path);
  void FillScalar(Message* message, const Field& field, const YamlNode& node, const std::string& path);
  void AddMapEntry(Message* message, const Field& field, const std::string& key, const YamlNode& value,
                   const std::string& path);
  void RemoveMapEntry(Message* message, const Field& field, const std::string& key);
  void AssignField(Message* message, const Field& field, std::string_view value, const std::string& path);
  void UnknownKey(const google::protobuf::Descriptor& type, const std::string& key, int line,
                  const std::string& parent);

  void Problem(int line, const std::string& path, std::string message);
  void Record(int line, const std::string& path);
  void Forget(const std::string& path);  // origins of what a later input replaces

  const google::protobuf::Descriptor* root_ = nullptr;
  std::string source_;
  bool has_lines_;
  std::vector<TextProblem>* problems_;
  OriginMap* origins_;
};

}  // namespace gt
