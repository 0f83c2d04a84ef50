// One scalar's text into one field, strictly. Pure.
#pragma once
#include <google/protobuf/message.h>

#include <string>

namespace gt {

// Sets (or, where the field is repeated, adds) the value that `text` stands for; "" or what is wrong with it.
// `quoted` text is never a number, a truth value or an enum.
std::string SetScalar(google::protobuf::Message* message, const google::protobuf::FieldDescriptor& field,
                      const std::string& text, bool quoted);

// What such a field holds, for messages: "a whole number", "a duration".
std::string ScalarKind(const google::protobuf::FieldDescriptor& field);

}  // namespace gt
