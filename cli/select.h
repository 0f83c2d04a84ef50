// How people name jobs on the command line: 42, 42_7 (one task of an array), 12-20, @last (your newest job).
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cli/session.h"
#include "common/base/ids.h"

namespace gt {

constexpr size_t kMaxSelected = 1000;

// In the order given, each once. @last asks the coordinator. kInvalidArgument says what a selector looks like.
Result<std::vector<TaskSelector>> Select(Session* session, const std::vector<std::string>& words);
Result<TaskSelector> SelectOne(Session* session, const std::string& word);

std::string ToString(const TaskSelector& selector);  // "42", "42_7"

}  // namespace gt
