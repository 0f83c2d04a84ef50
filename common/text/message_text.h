// Protobuf messages as YAML with the origin of each value (--print-config) and as JSON. Pure; any thread.
#pragma once
#include <google/protobuf/message.h>

#include <nlohmann/json.hpp>
#include <string>

#include "common/text/yaml_message.h"

namespace gt {

using Json = nlohmann::ordered_json;  // keys stay in the order of the proto

// Every setting with its effective value, and where that came from as a comment: "default", "worker.yaml:3" or a flag.
// Settings without value and default are comments ("# cpus: (not set)"). Secrets are masked. MessageReader reads it
// back.
std::string ToYaml(const google::protobuf::Message& message, const OriginMap& origins);

struct JsonOptions {
  bool defaults =
      true;  // fields that are absent but have a default, also those of absent messages without required fields
  bool nulls = false;    // what is absent without a default is null, else it is left out
  bool seconds = false;  // durations in seconds (for people's JSON), else in milliseconds
};
// Keys as in the proto, enums as EnumText, 64-bit integers as numbers, bytes and text that are not UTF-8 escaped as
// Printable does. Secrets are masked ("***"). Fields that are not supported yet are left out.
Json ToJson(const google::protobuf::Message& message, const JsonOptions& options = {});

// One line; never throws: what is not UTF-8 is replaced.
std::string Dump(const Json& json);

}  // namespace gt
