// A builder of the tree of text/document.h from the events of a parser. Private to text/.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "text/document.h"

namespace trnplan::document {

/// Throws InputError.
[[noreturn]] void refuse(const SourcePos& at, std::string problem, std::string fix);
/// Refuses a file above `limit` bytes. Throws InputError.
[[noreturn]] void refuse_size(const std::string& name, std::size_t limit);

/// Builds the tree from events, for both parsers, and enforces the limits.
class TreeBuilder {
 public:
  TreeBuilder(std::string name, const DocumentLimits& limits) : name_(std::move(name)), limits_(limits) {}

  SourcePos position(int line, int column) const { return {name_, line, column}; }

  void open(Node::Kind kind, const SourcePos& at, std::size_t anchor = 0) {
    if (expects_key()) refuse_key(at);
    if (static_cast<int>(frames_.size()) >= limits_.depth) refuse_depth(at);
    count(1, at);
    Frame frame;
    frame.subtree.node.kind = kind;
    frame.subtree.node.at = at;
    frame.anchor = anchor;
    frames_.push_back(std::move(frame));
  }

  void close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    ++frame.subtree.height;
    finish(std::move(frame.subtree), frame.anchor);
  }

  void null(const SourcePos& at, std::size_t anchor = 0) {
    if (expects_key()) refuse_key(at);
    count(1, at);
    Subtree leaf;
    leaf.node.at = at;
    finish(std::move(leaf), anchor);
  }

  void scalar(std::string text, bool quoted, const SourcePos& at, std::size_t anchor = 0) {
    count(1, at);
    Subtree leaf;
    leaf.node.kind = Node::Kind::scalar;
    leaf.node.scalar = std::move(text);
    leaf.node.quoted = quoted;
    leaf.node.at = at;
    finish(std::move(leaf), anchor);
  }

  void alias(std::size_t anchor, const SourcePos& at) {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end())
      refuse(at, "this alias is inside the value that it names", "write the value out");
    if (static_cast<int>(frames_.size()) + found->second.height > limits_.depth) refuse_depth(at);
    count(found->second.nodes, at);
    Subtree copy = found->second;
    copy.node.at = at;
    add(std::move(copy));
  }

  Node take() { return std::move(root_); }

 private:
  struct Subtree {
    Node node;
    std::size_t nodes = 1;
    int height = 0;
  };
  struct Frame {
    Subtree subtree;
    std::size_t anchor = 0;
    std::optional<Node::Entry> pending;       // the key whose value comes next
    std::map<std::string, std::size_t> seen;  // index of each key, so that long maps stay linear
  };

  bool expects_key() const {
    return !frames_.empty() && frames_.back().subtree.node.is_map() && !frames_.back().pending;
  }

  [[noreturn]] static void refuse_key(const SourcePos& at) {
    refuse(at, "there is a list, a map or nothing instead of a key",
           "close every bracket that was opened; write keys as plain text");
  }
  [[noreturn]] void refuse_depth(const SourcePos& at) const {
    refuse(at, "lists and maps are nested more than " + std::to_string(limits_.depth) + " deep",
           "flatten the file");
  }

  void count(std::size_t nodes, const SourcePos& at) {
    used_ += nodes;
    if (used_ <= limits_.nodes) return;
    refuse(
        at,
        "the file has more than " + std::to_string(limits_.nodes) + " values once its aliases are expanded",
        "write fewer values or fewer aliases (*name)");
  }

  void finish(Subtree subtree, std::size_t anchor) {
    if (anchor != 0) {
      // The stored copy costs as much as an alias does: otherwise nested anchors would multiply the memory.
      count(subtree.nodes, subtree.node.at);
      anchors_.insert_or_assign(anchor, subtree);
    }
    add(std::move(subtree));
  }

  void add(Subtree child) {
    if (frames_.empty()) {
      root_ = std::move(child.node);
      return;
    }
    Frame& frame = frames_.back();
    if (expects_key()) {
      add_key(frame, std::move(child.node));
      return;
    }
    frame.subtree.nodes += child.nodes;
    frame.subtree.height = std::max(frame.subtree.height, child.height);
    if (frame.pending) {
      frame.pending->value = std::move(child.node);
      frame.subtree.node.entries.push_back(std::move(*frame.pending));
      frame.pending.reset();
    } else {
      frame.subtree.node.items.push_back(std::move(child.node));
    }
  }

  static void add_key(Frame& frame, Node key) {
    if (key.kind != Node::Kind::scalar) refuse_key(key.at);
    if (key.scalar == "<<" && !key.quoted) {
      refuse(key.at, "merge keys (<<) are not supported", "write the merged keys out");
    }
    const auto [first, fresh] = frame.seen.emplace(key.scalar, frame.subtree.node.entries.size());
    if (!fresh) {
      const SourcePos& before = frame.subtree.node.entries[first->second].key_at;
      throw InputError(Diagnostic{key.at, key.scalar,
                                  "this key was already given at line " + std::to_string(before.line) +
                                      ", column " + std::to_string(before.column),
                                  "keep one of the two"});
    }
    frame.pending = Node::Entry{std::move(key.scalar), key.at, {}};
  }

  std::string name_;
  DocumentLimits limits_;
  std::vector<Frame> frames_;
  std::map<std::size_t, Subtree> anchors_;
  std::size_t used_ = 0;
  Node root_;
};

/// Parses a text in the format of the name. Throws InputError.
[[nodiscard]] Node parse_yaml(const std::string& text, const std::string& name, const DocumentLimits& limits);
[[nodiscard]] Node parse_json(const std::string& text, const std::string& name, const DocumentLimits& limits);
[[nodiscard]] Node parse_toml(const std::string& text, const std::string& name, const DocumentLimits& limits);

}  // namespace trnplan::document
