// What options.proto says of each field, for the reader, the checks and the printers: one place that interprets it.
// Pure; any thread.
#pragma once
#include <google/protobuf/message.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "gridtrain/v1/options.pb.h"

namespace gt {

// Something wrong with a field of a message; the path is as people write it: "train.optimizer.lr", "run.command[2]".
struct FieldProblem {
  std::string path;
  std::string message;
};

const gridtrain::v1::FieldRules& RulesOf(const google::protobuf::FieldDescriptor& field);

// An enum value as YAML and JSON write it: lower case, without the prefix that all values of the enum share.
std::string EnumText(const google::protobuf::EnumValueDescriptor& value);
// nullptr when there is no such value; nothing but the exact text counts.
const google::protobuf::EnumValueDescriptor* EnumFromText(const google::protobuf::EnumDescriptor& type,
                                                          std::string_view text);
// Texts of the values that are built: "a, b or c".
std::string EnumChoices(const google::protobuf::EnumDescriptor& type);

// A number in the field's own unit, as people would write it: "30s", "2GiB", "64".
std::string FormatInUnit(const google::protobuf::FieldDescriptor& field, double value);

// Every broken rule of `message` and what it contains: ranges, lengths, required and unsupported fields and enum
// values. It trusts nothing: messages from the wire are checked with it too.
std::vector<FieldProblem> CheckRules(const google::protobuf::Message& message);

std::string JoinPath(const std::string& parent, const std::string& name);  // "" + "a" -> "a"; "a" + "b" -> "a.b"

}  // namespace gt
