#include "targets/nxdt/nxdt_yaml.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>

#include <string_view>
#include <utility>
#include <vector>

#include "targets/nxdt/yaml_scalar.h"
#include "text/log_lines.h"

namespace trnplan::targets {

namespace {

constexpr std::size_t kKeyLimit = 200;            ///< bytes of one key
constexpr std::size_t kPathLimit = 400;           ///< bytes of a dotted key
constexpr std::size_t kFaultLimit = 50;           ///< faults worth reading
constexpr int kChainLimit = 32;                   ///< interpolations that lead to one value
constexpr int kNestLimit = 8;                     ///< interpolations inside one another
constexpr std::size_t kExpandedLimit = 1u << 20;  ///< bytes all interpolations of a file may produce

/// A leaf of the file before interpolation. `key` is dotted; keys hold no dots, so it is unique.
struct Leaf {
  std::string key;
  const Node* node;
  SourcePos at;
};

struct Faults {
  std::vector<Diagnostic> list;

  void add(const SourcePos& at, std::string_view key, std::string problem, std::string fix) {
    if (list.size() < kFaultLimit) list.push_back({at, printable(key), std::move(problem), std::move(fix)});
  }
};

bool usable(const Node::Entry& entry, const std::string& path, Faults& faults) {
  std::string problem;
  if (entry.key.empty())
    problem = "an empty key";
  else if (entry.key.find('.') != std::string::npos)
    problem = "a key with a dot, which stands for nesting in NxDT";
  else if (entry.key.size() > kKeyLimit || path.size() > kPathLimit)
    problem = "the key is too long";
  if (problem.empty()) return true;
  faults.add(entry.key_at, path, std::move(problem), "write a short key without dots; nest with indentation");
  return false;
}

void collect_leaves(const Node& map, const std::string& prefix, std::vector<Leaf>& leaves, Faults& faults) {
  for (const Node::Entry& entry : map.entries) {
    std::string path = prefix + entry.key.substr(0, kKeyLimit + 1);
    if (!usable(entry, path, faults)) continue;
    const bool section = entry.value.is_map() && !entry.value.entries.empty();
    if (section)
      collect_leaves(entry.value, path + '.', leaves, faults);
    else
      leaves.push_back({std::move(path), &entry.value, entry.key_at});
  }
}

/// Text of a value after interpolation.
struct Value {
  std::string text;
  bool quoted = false;
};

std::string_view parent_of(std::string_view key) {
  const std::size_t dot = key.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : key.substr(0, dot);
}

std::optional<std::int64_t> whole(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// ${multiply:A, B}, a resolver NeMo registers. Whole numbers only.
std::optional<Value> multiply(std::string_view arguments) {
  const std::size_t comma = arguments.find(',');
  if (comma == std::string_view::npos) return std::nullopt;
  const auto a = whole(trimmed(arguments.substr(0, comma)));
  const auto b = whole(trimmed(arguments.substr(comma + 1)));
  std::int64_t product = 0;
  if (!a || !b || __builtin_mul_overflow(*a, *b, &product)) return std::nullopt;
  return Value{fmt::format("{}", product), false};
}

/// The '}' that closes the "${" at `open`, or npos.
std::size_t closing_brace(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open + 1; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) return i;
  }
  return std::string_view::npos;
}

/// Resolves OmegaConf interpolations over the leaves of one file. Each leaf is resolved once; what cannot be
/// resolved keeps its text.
class Resolver {
 public:
  Resolver(const std::vector<Leaf>& leaves, Faults& faults)
      : leaves_(&leaves), faults_(&faults), states_(leaves.size(), State::fresh), values_(leaves.size()) {
    for (std::size_t i = 0; i < leaves.size(); ++i) index_.emplace(leaves[i].key, i);
  }

  const Value& resolve(std::size_t i) {
    if (states_[i] == State::fresh) {
      const Leaf& leaf = (*leaves_)[i];
      states_[i] = State::open;
      current_ = &leaf;
      values_[i] = render(*leaf.node, parent_of(leaf.key));
      states_[i] = State::done;
    }
    return values_[i];
  }

 private:
  enum class State { fresh, open, done };

  Value render(const Node& node, std::string_view container) {
    switch (node.kind) {
      case Node::Kind::null:
        return {"null", false};
      case Node::Kind::scalar:
        return scalar(node, container);
      case Node::Kind::sequence:
      case Node::Kind::map:
        return {flow(node, container), false};
    }
    return {};
  }

  /// A list or a map inside a list as one text: "[a, b]", "{}", "[{a: 1}]".
  std::string flow(const Node& node, std::string_view container) {
    const bool map = node.is_map();
    std::string out(map ? "{" : "[");
    const auto separate = [&] {
      if (out.size() > 1) out += ", ";
    };
    for (const Node& item : node.items) {
      separate();
      out += flow_item(item, container);
    }
    for (const Node::Entry& entry : node.entries) {
      separate();
      out += (plain_in_flow(entry.key) ? entry.key : double_quoted(entry.key)) + ": ";
      out += flow_item(entry.value, container);
    }
    return out + (map ? '}' : ']');
  }

  std::string flow_item(const Node& item, std::string_view container) {
    const Value value = render(item, container);
    const bool is_text = item.kind == Node::Kind::scalar;
    if (is_text && (value.quoted || !plain_in_flow(value.text))) return double_quoted(value.text);
    return is_text ? spelled(value.text) : value.text;
  }

  Value scalar(const Node& node, std::string_view container) {
    const Value raw{node.scalar, node.quoted};
    if (raw.text.find("${") == std::string::npos || raw.text.find("\\${") != std::string::npos) return raw;
    std::optional<Value> value = expand(raw.text, container, 0);
    if (!value) return raw;
    expanded_ += value->text.size();
    if (expanded_ > kExpandedLimit) {
      fault("interpolations grow beyond 1 MiB", "write the values out");
      return raw;
    }
    return *value;
  }

  /// A text with its interpolations replaced; nullopt when one of them cannot be.
  std::optional<Value> expand(std::string_view text, std::string_view container, int nesting) {
    if (nesting > kNestLimit) return std::nullopt;
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t open = text.find("${", at);
      out += text.substr(at, open - at);
      if (open == std::string_view::npos) break;
      const std::size_t close = closing_brace(text, open);
      if (close == std::string_view::npos) return std::nullopt;
      std::optional<Value> one = interpolation(text.substr(open + 2, close - open - 2), container, nesting);
      if (!one) return std::nullopt;
      if (open == 0 && close + 1 == text.size()) return one;  // the whole text: keeps the type of its target
      if (one->text == "null" && !one->quoted) return std::nullopt;
      out += one->text;
      if (out.size() > kExpandedLimit) return std::nullopt;
      at = close + 1;
    }
    return Value{std::move(out), true};
  }

  /// The inside of "${...}": a reference or a resolver call, itself perhaps with interpolations.
  std::optional<Value> interpolation(std::string_view inside, std::string_view container, int nesting) {
    const std::optional<Value> plain = inside.find("${") == std::string_view::npos
                                           ? Value{std::string(inside), false}
                                           : expand(inside, container, nesting + 1);
    if (!plain) return std::nullopt;
    const std::string_view text = trimmed(plain->text);
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return reference(text, container);
    if (text.substr(0, colon) == "multiply") return multiply(text.substr(colon + 1));
    return std::nullopt;
  }

  /// "a.b" from the root; ".b" next to the key; each further dot one level up, the root at most.
  std::optional<Value> reference(std::string_view path, std::string_view container) {
    std::string target(path);
    if (path.starts_with('.')) {
      path.remove_prefix(1);
      for (; path.starts_with('.'); path.remove_prefix(1)) container = parent_of(container);
      target = container.empty() ? std::string(path) : fmt::format("{}.{}", container, path);
    }
    const auto found = index_.find(target);
    if (found == index_.end()) return std::nullopt;
    return follow(found->second);
  }

  std::optional<Value> follow(std::size_t i) {
    const Leaf& leaf = (*leaves_)[i];
    if (states_[i] == State::open) {
      fault(fmt::format("the interpolation leads back to {}", printable(leaf.key)),
            "write one of the values out");
      return std::nullopt;
    }
    if (chain_ >= kChainLimit && states_[i] == State::fresh) {
      fault(fmt::format("a chain of more than {} interpolations", kChainLimit), "refer to the value itself");
      return std::nullopt;
    }
    const Leaf* from = current_;
    ++chain_;
    Value value = resolve(i);
    --chain_;
    current_ = from;
    return value;
  }

  void fault(std::string problem, std::string fix) {
    faults_->add(current_->at, current_->key, std::move(problem), std::move(fix));
  }

  const std::vector<Leaf>* leaves_;
  Faults* faults_;
  std::vector<State> states_;
  std::vector<Value> values_;
  std::map<std::string, std::size_t, std::less<>> index_;
  const Leaf* current_ = nullptr;
  int chain_ = 0;
  std::size_t expanded_ = 0;
};

}  // namespace

NxdtConfig nxdt_from(const Node& root) {
  if (!root.is_map()) {
    throw InputError(
        Diagnostic{root.at, "", "an NxDT config must be a map of keys", "start with `name: hf_llama`"});
  }
  Faults faults;
  std::vector<Leaf> leaves;
  collect_leaves(root, "", leaves, faults);
  Resolver resolver(leaves, faults);
  NxdtConfig config;
  config.file = root.at.file;
  config.keys.reserve(leaves.size());
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const Value& value = resolver.resolve(i);
    config.keys.push_back({leaves[i].key, value.text, value.quoted, leaves[i].at});
  }
  if (!faults.list.empty()) throw InputError(std::move(faults.list));
  return config;
}

NxdtConfig read_nxdt(const std::filesystem::path& path, const Files& files) {
  const std::string text = files.text(path);
  NxdtConfig config = nxdt_from(parse_document(text, path.string()));
  config.devices_lines = devices_lines(text, path.string());
  return config;
}

std::vector<GreppedLine> devices_lines(const std::string& text, const std::string& file) {
  constexpr std::string_view blanks = " \t\r";
  std::vector<GreppedLine> found;
  int number = 0;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    const std::string_view line = std::string_view(text).substr(from, end - from);
    from = end + 1;
    ++number;
    const std::size_t hit = line.find("devices:");
    if (hit == std::string_view::npos) continue;
    const auto word_after = [&](std::size_t at) {  // the first that starts at `at` or later
      const std::size_t begin = std::min(line.find_first_not_of(blanks, at), line.size());
      return line.substr(begin, line.find_first_of(blanks, begin) - begin);
    };
    const std::string_view first = word_after(0);
    const std::size_t after_first = static_cast<std::size_t>(first.data() - line.data()) + first.size();
    found.push_back({{file, number, static_cast<int>(hit) + 1}, std::string(word_after(after_first))});
  }
  return found;
}

bool looks_like_nxdt(const Node& root) {
  return root.is_map() && root.find("trainer") != nullptr && root.find("distributed_strategy") != nullptr;
}

}  // namespace trnplan::targets
