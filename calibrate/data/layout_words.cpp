#include "calibrate/data/layout_words.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "text/parse.h"

namespace trnplan::calibrate {

using logs::LayoutRun;

namespace {

constexpr std::string_view kNumber = "{n}";
constexpr std::size_t kPlace = kNumber.size();  ///< as long as "{w}"

/// What separates words of a text.
constexpr std::string_view kBetween = " ,+";

std::vector<std::string> words_in(std::string_view text) {
  std::vector<std::string> all;
  for (std::size_t at = text.find_first_not_of(kBetween); at < text.size();
       at = text.find_first_not_of(kBetween, at)) {
    all.emplace_back(text.substr(at, text.find_first_of(kBetween, at) - at));
    at += all.back().size();
  }
  return all;
}

/// Part of the text in the place of "{n}" or "{w}" of a rule's text; "" where that has none; nullopt if they
/// differ otherwise.
std::optional<std::string> place_in(std::string_view rule, std::string_view text) {
  const std::size_t at = rule.find_first_of('{');
  if (at == std::string_view::npos) return rule == text ? std::optional(std::string()) : std::nullopt;
  const std::string_view before = rule.substr(0, at), after = rule.substr(at + kPlace);
  if (text.size() <= before.size() + after.size() || !text.starts_with(before) || !text.ends_with(after))
    return std::nullopt;
  const std::string_view part = text.substr(at, text.size() - before.size() - after.size());
  if (rule.substr(at, kPlace) == kNumber)
    return parse_whole(part) ? std::optional(std::string(part)) : std::nullopt;
  const std::vector<std::string> words = words_in(part);
  return words.empty() ? std::nullopt : std::optional(fmt::format("{}", fmt::join(words, "+")));
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return out;
}

/// First rule of a column that `takes` a rule.
template <class Takes>
const LayoutRule* first_of(const LayoutRules& rules, std::string_view column, const LayoutRun& run,
                           const Takes& takes) {
  const auto it = std::find_if(rules.rules.begin(), rules.rules.end(), [&](const LayoutRule& r) {
    return r.column == column && run.source.starts_with(r.source) && run.gpu.starts_with(r.gpu) && takes(r);
  });
  return it == rules.rules.end() ? nullptr : &*it;
}

bool states_other_value(std::string_view keys, std::string_view pair) {
  const std::string key = "," + std::string(pair.substr(0, pair.find('=') + 1));
  const std::string all = "," + std::string(keys) + ",";
  return all.find(key) != std::string::npos && all.find("," + std::string(pair) + ",") == std::string::npos;
}

/// Meaning by the rules of its words; nullopt if it has none, or a word without a rule.
std::optional<Meaning> meaning_of_words(const LayoutRules& rules, std::string_view column,
                                        std::string_view text, const LayoutRun& run) {
  Meaning out;
  const std::vector<std::string> words = words_in(text);
  for (const std::string& word : words) {
    const LayoutRule* rule =
        first_of(rules, column, run, [&](const LayoutRule& r) { return lower(r.word) == lower(word); });
    if (rule == nullptr) return std::nullopt;
    if (!rule->refused.empty()) out.refused = rule->refused;
    for (const std::string& pair : comma_parts(rule->keys)) {
      if (pair.empty()) continue;
      if (states_other_value(out.keys, pair))
        out.refused = fmt::format("the words of {} contradict each other", column);
      out.keys += (out.keys.empty() ? "" : ",") + pair;
    }
  }
  return words.empty() ? std::nullopt : std::optional(out);
}

}  // namespace

const LayoutRule* rule_of(const LayoutRules& rules, std::string_view column, std::string_view text,
                          const LayoutRun& run) {
  const bool by_beginning = column == "source" || column == "model" || column == "recipe";
  return first_of(rules, column, run, [&](const LayoutRule& r) {
    return r.word.empty() && (by_beginning ? text.starts_with(r.text) : place_in(r.text, text).has_value());
  });
}

Meaning meaning_of(const LayoutRules& rules, std::string_view column, std::string_view text,
                   const LayoutRun& run) {
  if (const LayoutRule* rule = rule_of(rules, column, text, run)) {
    Meaning out{rule, rule->keys, rule->refused};
    if (const std::size_t at = out.keys.find('{'); at != std::string::npos)
      out.keys.replace(at, kPlace, *place_in(rule->text, text));
    return out;
  }
  if (const auto words = meaning_of_words(rules, column, text, run)) return *words;
  return {nullptr, "",
          fmt::format("{}: no rule of {} says what {} is", column, rules.name, in_quotes(text, 40))};
}

void put_keys(std::string& keys, std::string_view more) {
  while (!more.empty()) {
    const std::string_view one = more.substr(0, more.find(','));
    more.remove_prefix(std::min(more.size(), one.size() + 1));
    const std::string start = "," + std::string(one.substr(0, one.find('=') + 1));
    if (const std::size_t at = keys.find(start); at != std::string::npos)
      keys.erase(at, std::min(keys.size(), keys.find(',', at + 1)) - at);
    keys.append(",").append(one);
  }
}

}  // namespace trnplan::calibrate
