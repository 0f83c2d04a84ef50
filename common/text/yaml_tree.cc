#include "common/text/yaml_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "common/text/text.h"

namespace gt {
namespace {

using Node = std::shared_ptr<YamlNode>;

// Thrown through yaml-cpp to stop it at once; caught in ParseYaml and nowhere else.
struct Refusal {
  int line;
  std::string message;
};

class Builder : public YAML::EventHandler {
 public:
  explicit Builder(std::string_view source) : source_(source) {}
  Node root() const { return root_; }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Node node = Make(YamlNode::Kind::kNull, mark);
    node->text = WrittenNull(mark);
    Finish(node, anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    auto it = anchors_.find(anchor);
    if (it == anchors_.end()) throw Refusal{Line(mark), "an alias inside the node that it stands for"};
    Count(it->second.size, mark);
    if (static_cast<int>(stack_.size()) + it->second.depth > kMaxYamlDepth) TooDeep(mark);
    size_.back() += it->second.size;
    depth_.back() = std::max(depth_.back(), it->second.depth);
    Attach(it->second.node, mark);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    RefuseTag(tag, mark);
    Node node = Make(YamlNode::Kind::kScalar, mark);
    if (!IsUtf8(value)) throw Refusal{Line(mark), "an escape that is not a character"};
    node->text = value;
    node->quoted = tag != "?";
    Finish(node, anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    RefuseTag(tag, mark);
    Push(Make(YamlNode::Kind::kSequence, mark), anchor, false, mark);
  }
  void OnSequenceEnd() override { Pop(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    RefuseTag(tag, mark);
    Push(Make(YamlNode::Kind::kMap, mark), anchor, style == YAML::EmitterStyle::Flow, mark);
  }
  void OnMapEnd() override { Pop(); }

 private:
  struct Open {
    Node node;
    YAML::anchor_t anchor;
    bool flow;
    bool has_key = false;
    std::string key;
    int key_line = 0;
    int key_column = 0;
  };
  struct Anchored {
    Node node;
    size_t size;
    int depth;
  };

  static int Line(const YAML::Mark& mark) { return mark.line + 1; }
  [[noreturn]] static void TooDeep(const YAML::Mark& mark) { throw Refusal{Line(mark), "nested too deeply"}; }
  static void RefuseTag(const std::string& tag, const YAML::Mark& mark) {
    if (!tag.empty() && tag != "?" && tag != "!")
      throw Refusal{Line(mark), "tags like " + Printable(tag) + " are not supported"};
  }

  void Count(size_t nodes, const YAML::Mark& mark) {
    nodes_ += nodes;
    if (nodes_ > kMaxYamlNodes) throw Refusal{Line(mark), "more than " + std::to_string(kMaxYamlNodes) + " values"};
  }
  Node Make(YamlNode::Kind kind, const YAML::Mark& mark) {
    Count(1, mark);
    auto node = std::make_shared<YamlNode>();
    node->kind = kind;
    node->line = Line(mark);
    mark_ = mark;
    return node;
  }

  // yaml-cpp drops the text of a null and, for a value that is missing, gives the place of what comes after it.
  std::string WrittenNull(const YAML::Mark& mark) const {
    if (!stack_.empty() && stack_.back().has_key && !stack_.back().flow) {
      const Open& open = stack_.back();
      if (Line(mark) != open.key_line && mark.column <= open.key_column) return "";
    }
    std::string_view rest = source_.substr(std::min(static_cast<size_t>(std::max(mark.pos, 0)), source_.size()));
    for (std::string_view word : {"null", "Null", "NULL", "~"})
      if (rest.substr(0, word.size()) == word) return std::string(word);
    return "";
  }

  void Finish(const Node& node, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) anchors_[anchor] = {node, 1, 1};
    if (!size_.empty()) size_.back() += 1;
    Attach(node, mark_);
  }
  void Push(Node node, YAML::anchor_t anchor, bool flow, const YAML::Mark& mark) {
    if (static_cast<int>(stack_.size()) >= kMaxYamlDepth) TooDeep(mark);
    if (!stack_.empty() && stack_.back().node->kind == YamlNode::Kind::kMap && !stack_.back().has_key)
      throw Refusal{Line(mark), "a key must be plain text"};
    stack_.push_back({std::move(node), anchor, flow});
    size_.push_back(1);
    depth_.push_back(0);
  }
  void Pop() {
    Open open = std::move(stack_.back());
    size_t size = size_.back();
    int depth = depth_.back() + 1;
    stack_.pop_back(), size_.pop_back(), depth_.pop_back();
    if (open.anchor != YAML::NullAnchor) anchors_[open.anchor] = {open.node, size, depth};
    if (!size_.empty()) size_.back() += size, depth_.back() = std::max(depth_.back(), depth);
    Attach(open.node, mark_);
  }
  void Attach(const Node& node, const YAML::Mark& mark) {
    if (stack_.empty()) {
      root_ = node;
      return;
    }
    Open& parent = stack_.back();
    if (parent.node->kind == YamlNode::Kind::kSequence) {
      parent.node->items.push_back(node);
    } else if (!parent.has_key) {
      if (node->kind != YamlNode::Kind::kScalar) throw Refusal{Line(mark), "a key must be plain text"};
      parent.has_key = true, parent.key = node->text, parent.key_line = Line(mark), parent.key_column = mark.column;
    } else {
      parent.node->entries.push_back({parent.key, parent.key_line, node});
      parent.has_key = false;
    }
  }

  std::string_view source_;
  Node root_;
  std::vector<Open> stack_;
  std::vector<size_t> size_;  // nodes in each open container so far
  std::vector<int> depth_;    // deepest nesting inside each
  std::map<YAML::anchor_t, Anchored> anchors_;
  size_t nodes_ = 0;
  YAML::Mark mark_;
};

YamlParse Error(int line, std::string message) { return {nullptr, line, std::move(message)}; }

// Where the first byte lies that is not UTF-8.
int LineOfBadByte(std::string_view text) {
  int line = 1;
  while (true) {
    size_t end = text.find('\n');
    if (!IsUtf8(text.substr(0, end)) || end == std::string_view::npos) return line;
    text.remove_prefix(end + 1), ++line;
  }
}

// yaml-cpp indents by counting: a tab there gives messages that nobody understands.
int LineIndentedByTab(std::string_view text) {
  int line = 1;
  for (size_t begin = 0; begin < text.size(); ++line) {
    size_t end = std::min(text.find('\n', begin), text.size());
    size_t content = text.find_first_not_of(" \t", begin);
    bool blank = content == std::string_view::npos || content >= end;
    if (!blank && text.substr(begin, content - begin).find('\t') != std::string_view::npos) return line;
    begin = end + 1;
  }
  return 0;
}

}  // namespace

YamlParse ParseYaml(std::string_view text) {
  if (text.size() > kMaxYamlBytes) return Error(0, "is larger than 1 MiB");
  if (!IsUtf8(text)) return Error(LineOfBadByte(text), "is not valid UTF-8");
  if (size_t zero = text.find('\0'); zero != std::string_view::npos)
    return Error(1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(zero), '\n')),
                 "has a zero byte");
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  Builder builder(text);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder)) return {};
    Node root = builder.root();
    Builder second(text);
    if (parser.HandleNextDocument(second))
      return Error(second.root() ? second.root()->line : 0, "has more than one document");
    return {root, 0, ""};
  } catch (const Refusal& refusal) {
    return Error(refusal.line, refusal.message);
  } catch (const YAML::Exception& e) {
    int tab = LineIndentedByTab(text);
    if (tab != 0 && tab <= e.mark.line + 2) return Error(tab, "is indented by a tab; YAML allows only spaces");
    return Error(e.mark.line + 1, "is not valid YAML: " + Printable(e.msg));
  } catch (const std::exception& e) {
    return Error(0, std::string("cannot be read as YAML: ") + Printable(e.what()));
  }
}

}  // namespace gt
