#include "targets/nxdt/nxdt_config.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "text/log_lines.h"
#include "text/parse.h"

namespace trnplan::targets {

// ---- leaves

void set_nodes(NxdtConfig& config, int hosts) {
  for (NxdtKey& leaf : config.keys) {
    if (leaf.key != kNumNodes) continue;
    leaf.text = std::to_string(hosts);
    leaf.quoted = false;
    return;
  }
  config.keys.push_back({kNumNodes, std::to_string(hosts), false, {config.file, 0, 0}});
}

const NxdtKey* NxdtConfig::find(std::string_view key) const {
  const auto it = std::find_if(keys.begin(), keys.end(), [&](const NxdtKey& k) { return k.key == key; });
  return it == keys.end() ? nullptr : &*it;
}

namespace {

bool is_null(const NxdtKey& k) {
  return !k.quoted &&
         (k.text.empty() || k.text == "null" || k.text == "~" || k.text == "Null" || k.text == "NULL");
}

/// Leaf that is present and not null.
const NxdtKey* value_of(const NxdtConfig& config, std::string_view key) {
  const NxdtKey* found = config.find(key);
  return found == nullptr || is_null(*found) ? nullptr : found;
}

}  // namespace

std::string NxdtConfig::text(std::string_view key, std::string_view fallback) const {
  const NxdtKey* found = value_of(*this, key);
  return found == nullptr ? std::string(fallback) : found->text;
}

std::optional<int> NxdtConfig::whole(std::string_view key) const {
  const NxdtKey* found = value_of(*this, key);
  if (found == nullptr || found->quoted) return std::nullopt;
  const bool negative = found->text.starts_with('-');
  const std::optional<int> size = parse_whole(std::string_view(found->text).substr(negative ? 1 : 0));
  return size && negative ? std::optional(-*size) : size;
}

std::optional<double> NxdtConfig::number(std::string_view key) const {
  const NxdtKey* found = value_of(*this, key);
  if (found == nullptr || found->quoted || found->text.empty()) return std::nullopt;
  const char* begin = found->text.data() + (found->text[0] == '+' ? 1 : 0);
  const char* end = found->text.data() + found->text.size();
  double value = 0;
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<bool> NxdtConfig::boolean(std::string_view key) const {
  const NxdtKey* found = value_of(*this, key);
  if (found == nullptr || found->quoted) return std::nullopt;
  if (found->text == "True" || found->text == "true") return true;
  if (found->text == "False" || found->text == "false") return false;
  return std::nullopt;
}

bool NxdtConfig::has_section(std::string_view prefix) const {
  return std::any_of(keys.begin(), keys.end(), [&](const NxdtKey& k) {
    return k.key.size() > prefix.size() && k.key.starts_with(prefix) && k.key[prefix.size()] == '.';
  });
}

// ---- lists: "[a, 'b', \"c\"]"

namespace {

/// Text of one list item without its quotes.
std::string unquoted(std::string_view item) {
  if (item.size() < 2 || item.front() != item.back() || (item.front() != '"' && item.front() != '\'')) {
    return std::string(item);
  }
  const bool escapes = item.front() == '"';
  item = item.substr(1, item.size() - 2);
  std::string text;
  for (std::size_t i = 0; i < item.size(); ++i) {
    const bool skip = escapes ? item[i] == '\\' : item.substr(i).starts_with("''");
    if (skip && i + 1 < item.size()) ++i;
    text += item[i];
  }
  return text;
}

/// Index of the end of the item that starts at `from`: the next comma outside quotes and brackets, or the
/// size.
std::size_t item_end(std::string_view text, std::size_t from) {
  int depth = 0;
  char quote = 0;
  for (std::size_t i = from; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == '\\' && quote == '"')
        ++i;
      else if (c == quote)
        quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      return i;
    }
  }
  return text.size();
}

}  // namespace

std::vector<std::string> NxdtConfig::list(std::string_view key) const {
  const NxdtKey* found = value_of(*this, key);
  if (found == nullptr) return {};
  std::string_view text = trimmed(found->text);
  if (found->quoted || !text.starts_with('[') || !text.ends_with(']')) return {found->text};
  text = text.substr(1, text.size() - 2);
  std::vector<std::string> items;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = item_end(text, at);
    const std::string_view item = trimmed(text.substr(at, end - at));
    if (!item.empty()) items.push_back(unquoted(item));
    at = end + 1;
  }
  return items;
}

std::string_view to_string(Severity s) {
  switch (s) {
    case Severity::error:
      return "error";
    case Severity::warning:
      return "warning";
    case Severity::note:
      return "note";
  }
  return "?";
}

}  // namespace trnplan::targets
