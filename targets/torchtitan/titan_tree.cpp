#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "targets/torchtitan/titan_plan.h"
#include "targets/torchtitan/titan_read.h"
#include "text/document.h"

namespace trnplan::targets {

namespace {

/// A tree of sections and their scalars; the last one of a name counts. Cost: linear in the values set.
class ModuleSettings {
 public:
  explicit ModuleSettings(const SourcePos& at) {
    root_.kind = Node::Kind::map;
    root_.at = at;
  }

  void set(const std::string& section, const std::string& key, std::string value, const SourcePos& at) {
    leaf(section, key, Node::Kind::scalar, at).scalar = std::move(value);
  }
  void set(const std::string& section, const std::string& key, const std::vector<std::string>& values,
           const SourcePos& at) {
    Node& list = leaf(section, key, Node::Kind::sequence, at);
    list.items.clear();
    for (const std::string& value : values) {
      Node item;
      item.kind = Node::Kind::scalar;
      item.at = at;
      item.quoted = true;
      item.scalar = value;
      list.items.push_back(std::move(item));
    }
  }
  Node take() { return std::move(root_); }

 private:
  Node& leaf(const std::string& section, const std::string& key, Node::Kind kind, const SourcePos& at) {
    Node table;
    table.kind = Node::Kind::map;
    table.at = at;
    Node& in = place(root_, "", section, std::move(table));
    Node value;
    value.at = at;  // also the place of its key, to which faults point
    Node& kept = place(in, section, key, std::move(value));
    kept.kind = kind;
    kept.at = at;
    return kept;
  }
  /// Value of a key of `map` in `section`; `made` if it is new. Throws InputError.
  Node& place(Node& map, const std::string& section, const std::string& key, Node made) {
    const auto [found, fresh] = index_.emplace(std::pair(section, key), map.entries.size());
    if (fresh) {
      if (index_.size() > DocumentLimits{}.nodes)
        throw InputError(
            {made.at, "", "the module has too many settings", "give the one of a plan's folder"});
      map.entries.push_back({key, made.at, std::move(made)});
    }
    return map.entries[found->second].value;
  }

  Node root_;
  std::map<std::pair<std::string, std::string>, std::size_t> index_;  // by section and key
};

/// Settings of a module, name = value within config.SECTION, as a TOML would state them. Tokens become
/// sequences.
Node tree_of_module(const planner::ConfigFile& file) {
  ModuleSettings settings({file.name, 1, 1});
  std::istringstream in(file.text);
  std::string section;
  int number = 0;
  bool within = false;
  // AWS's fork has models of its own, none of them in FP8.
  const bool forked = file.text.find("\"torchtitan_neuron.") != std::string::npos;
  for (std::string line; std::getline(in, line);) {
    const SourcePos at{file.name, ++number, 1};
    within = within || line.starts_with("def trnplan");
    if (!within) continue;
    const std::string text(
        line.begin() + static_cast<std::ptrdiff_t>(std::min(line.find_first_not_of(" \t"), line.size())),
        line.end());
    const auto between = [&](const std::string& mark, const char* ends) {
      const std::size_t from = text.find(mark);
      return from == std::string::npos
                 ? std::string()
                 : text.substr(from + mark.size(),
                               text.find_first_of(ends, from + mark.size()) - from - mark.size());
    };
    if (const std::string found = between("config.", ",. )="); !found.empty()) section = found;
    if (const std::string function = between("config = shipped(\"", "\""); !function.empty()) {
      const TitanFlavor* flavor = titan_flavor_shipped(function);
      settings.set("model", "name", flavor == nullptr ? "llama3" : std::string(flavor->family), at);
      settings.set("model", "flavor", flavor == nullptr ? function : std::string(flavor->name), at);
      if (flavor != nullptr && flavor->shipped_fp8 && !forked) {
        settings.set("compile", "enable", "true", at);
        settings.set("parallelism", "enable_async_tensor_parallel", "true", at);
        settings.set("model", "converters", std::vector<std::string>{kTitanFloat8}, at);
      }
    }
    if (text.starts_with("config.model_spec = plain("))
      settings.set("model", "converters", std::vector<std::string>{}, at);
    // The plan is in FP8; the module reports that when it is started.
    if (titan_stops(line)) settings.set("model", "converters", std::vector<std::string>{kTitanFloat8}, at);
    if (text.starts_with("config.activation_checkpoint = ")) {
      const bool none = text.find("= None") != std::string::npos,
                 full = text.find("70b") != std::string::npos;
      settings.set("activation_checkpoint", "mode", none ? "none" : full ? "full" : "selective", at);
      settings.set("activation_checkpoint", "selective_ac_option", "op", at);
      continue;
    }
    // A value that ends at another = is not one of a setting, so no part of a line is scanned twice.
    for (std::size_t from = 0; (from = text.find('=', from)) != std::string::npos; ++from) {
      std::size_t name = from;
      while (name > 0 &&
             (std::isalnum(static_cast<unsigned char>(text[name - 1])) != 0 || text[name - 1] == '_'))
        --name;
      const std::size_t end = std::min(text.find_first_of(",)=", from + 1), text.size());
      if (end < text.size() && text[end] == '=') continue;
      if (from + 1 < text.size() && text[from + 1] == '[' && !section.empty()) {
        const std::string inside = between(text.substr(name, from - name) + "=[", "]");
        std::vector<std::string> items;
        std::istringstream in_list(inside);
        for (std::string item; std::getline(in_list, item, ',');) {
          std::erase_if(item, [](char c) { return c == '"' || c == ' '; });
          items.push_back(item);
        }
        settings.set(section, text.substr(name, from - name), items, at);
        from = std::min(text.find(']', from), text.size() - 1);
        continue;
      }
      std::string value = text.substr(from + 1, end - from - 1);
      std::erase(value, '"');
      const std::string key = text.substr(name, from - name);
      if (!section.empty() && !key.empty() && !value.empty() && value.front() != '=' &&
          value.front() != ' ' && value.front() != '(')
        settings.set(section, key, value == "True" ? "true" : value == "False" ? "false" : value, at);
    }
  }
  return settings.take();
}

/// Keys of the revision without TOML that the module states in addition to those of v0.2.2. They mean what
/// v0.2.2 does anyway, or have the value "" if another key states it too.
struct LaterKey {
  std::string_view section, key, value;
};
constexpr LaterKey kLater[] = {
    {"training", "num_tokens_per_microbatch_per_dp_rank", ""},
    {"training", "num_tokens_per_train_step", ""},
    {"training", "max_context_length", ""},
    {"training", "disable_cuda_graphs", ""},
    {"parallelism", "num_pp_microbatches", ""},
    {"parallelism", "enable_sequence_parallel", "true"},
    {"parallelism", "enable_fsdp_symm_mem", "false"},
    {"compile", "enable_async_tensor_parallel", ""},
};

void drop_later(Node& root) {
  for (Node::Entry& section : root.entries) {
    std::erase_if(section.value.entries, [&](const Node::Entry& e) {
      return std::any_of(std::begin(kLater), std::end(kLater), [&](const LaterKey& k) {
        return section.key == k.section && e.key == k.key && (k.value.empty() || e.value.scalar == k.value);
      });
    });
  }
  std::erase_if(root.entries, [](const Node::Entry& e) { return e.value.entries.empty(); });
}

}  // namespace

Node titan_tree(const planner::ConfigFile& file) {
  if (!file.name.ends_with(".py")) return parse_document(file.text, file.name);
  Node root = tree_of_module(file);
  drop_later(root);
  return root;
}

}  // namespace trnplan::targets
