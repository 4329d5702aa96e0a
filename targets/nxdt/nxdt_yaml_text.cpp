// The YAML text of a config.
#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "targets/nxdt/nxdt_yaml.h"
#include "targets/nxdt/yaml_scalar.h"

namespace trnplan::targets {

namespace {

/// The keys as a tree, children in the order of their first leaf.
struct Branch {
  std::string name;
  const NxdtKey* leaf = nullptr;
  std::vector<std::size_t> children;
};

std::vector<Branch> tree_of(const NxdtConfig& config) {
  std::vector<Branch> tree(1);
  std::map<std::pair<std::size_t, std::string>, std::size_t> index;
  for (const NxdtKey& key : config.keys) {
    std::size_t at = 0;
    for (std::size_t from = 0; from <= key.key.size();) {
      const std::size_t dot = std::min(key.key.find('.', from), key.key.size());
      const std::string name = key.key.substr(from, dot - from);
      const auto [slot, fresh] = index.try_emplace({at, name}, tree.size());
      if (fresh) {
        tree[at].children.push_back(tree.size());
        tree.push_back({name, nullptr, {}});
      }
      at = slot->second;
      from = dot + 1;
    }
    tree[at].leaf = &key;
  }
  return tree;
}

/// Unquoted list or map text: one that begins and ends with the same kind of bracket.
bool is_flow(std::string_view text) {
  return text.size() >= 2 &&
         ((text.front() == '[' && text.back() == ']') || (text.front() == '{' && text.back() == '}'));
}

std::string value_text(const NxdtKey& key) {
  if (key.quoted) return single_quoted(key.text);
  if (key.text.empty()) return "null";
  if (is_flow(key.text)) return key.text;
  return plain_in_block(key.text) ? spelled(key.text) : single_quoted(key.text);
}

class YamlWriter {
 public:
  explicit YamlWriter(const std::vector<Branch>& tree) : tree_(&tree) {}

  std::string text() && {
    children(0, 0);
    return std::move(out_);
  }

 private:
  void children(std::size_t at, int depth) {
    bool after_block = false;
    for (const std::size_t child : (*tree_)[at].children) {
      const bool block = !(*tree_)[child].children.empty();
      if (depth == 0 && !out_.empty() && (block || after_block)) out_ += '\n';
      one(child, depth);
      after_block = block;
    }
  }

  void one(std::size_t at, int depth) {
    const Branch& branch = (*tree_)[at];
    out_.append(static_cast<std::size_t>(depth) * 2, ' ');
    out_ += (plain_in_flow(branch.name) ? branch.name : single_quoted(branch.name)) + ':';
    if (!branch.children.empty()) {
      out_ += '\n';
      children(at, depth + 1);
    } else {
      out_ += ' ' + (branch.leaf == nullptr ? std::string("{}") : value_text(*branch.leaf)) + '\n';
    }
  }

  const std::vector<Branch>* tree_;
  std::string out_;
};

}  // namespace

std::string nxdt_yaml(const NxdtConfig& config) {
  const std::vector<Branch> tree = tree_of(config);
  return YamlWriter(tree).text();
}

}  // namespace trnplan::targets
