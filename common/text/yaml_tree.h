// One YAML document as a tree that keeps what the text said: lines, quoting, the order of keys and keys given twice.
// Pure; any thread.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gt {

struct YamlNode {
  enum class Kind { kNull, kScalar, kSequence, kMap };
  struct Entry;
  Kind kind = Kind::kNull;
  std::string text;     // kScalar: its value; kNull: as it was written ("null", "~" or nothing)
  bool quoted = false;  // kScalar: in quotes or a block, so it is text and never a number
  int line = 0;         // from 1
  std::vector<std::shared_ptr<const YamlNode>> items;  // kSequence
  std::vector<Entry> entries;                          // kMap, in the order of the file
};
struct YamlNode::Entry {
  std::string key;
  int line = 0;
  std::shared_ptr<const YamlNode> value;
};

// Either a root (nullptr for a document without content) or what is wrong.
struct YamlParse {
  std::shared_ptr<const YamlNode> root;
  int error_line = 0;  // 0: of the file as a whole
  std::string error;   // empty: ok
};

constexpr size_t kMaxYamlBytes = 1u << 20;
constexpr size_t kMaxYamlNodes = 200'000;  // counting what an alias stands for each time it is used
constexpr int kMaxYamlDepth = 64;

// Refuses what is not UTF-8, longer than kMaxYamlBytes, has more than one document, or keys that are not plain text.
// An alias stands for the node of its anchor; what it expands to is bounded by kMaxYamlNodes and kMaxYamlDepth.
YamlParse ParseYaml(std::string_view text);

}  // namespace gt
