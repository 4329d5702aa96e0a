#include "targets/start/start_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace trnplan::targets {

namespace {

std::string pointed_at(const std::vector<std::string>& keys, const Settings& settings) {
  const auto stated =
      std::find_if(keys.begin(), keys.end(), [&](const std::string& k) { return settings.given(k); });
  return stated == keys.end() ? keys.front() : *stated;
}

/// Breach of a rule with its place; nullopt if the rule holds, or if one of its keys cannot be read.
std::optional<planner::StartFault> breach_of(const StartRule& rule, const Settings& settings,
                                             const StartFacts& facts, const std::string& file) {
  const std::vector<std::string> keys = split_words(rule.keys);
  if (!std::all_of(keys.begin(), keys.end(), [&](const std::string& k) { return settings.readable(k); }))
    return std::nullopt;
  auto breach = rule.broken(settings, facts);
  if (!breach) return std::nullopt;
  const std::string key = breach->key.empty() ? pointed_at(keys, settings) : breach->key;
  return planner::StartFault{
      rule.word,
      rule.name,
      {settings.at(key, file), key, std::move(breach->problem), std::move(breach->fix)},
      rule.source,
      breach->doubtful,
      breach->understood};
}

bool stands_before(const Diagnostic& a, const Diagnostic& b) {
  return std::tie(a.at.line, a.at.column) < std::tie(b.at.line, b.at.column);
}

}  // namespace

std::vector<planner::StartFault> start_faults(const StartTable& table, const Settings& settings,
                                              const StartFacts& facts, const std::string& file) {
  std::vector<planner::StartFault> all;
  for (const Diagnostic& d : settings.faults())
    all.push_back({"value", "value", d, table.keys_source, false, false});
  for (const StartRule& rule : table.rules) {
    if (auto fault = breach_of(rule, settings, facts, file)) all.push_back(*std::move(fault));
  }
  std::stable_sort(all.begin(), all.end(), [](const planner::StartFault& a, const planner::StartFault& b) {
    return stands_before(a.what, b.what);
  });
  return all;
}

std::vector<Diagnostic> layout_faults(const StartTable& table, const Settings& settings,
                                      const StartFacts& facts, const std::string& file) {
  std::vector<Diagnostic> all;
  for (const StartRule& rule : table.rules) {
    if (!rule.of_layout) continue;
    auto fault = breach_of(rule, settings, facts, file);
    if (fault && !fault->doubtful && !fault->understood) all.push_back(std::move(fault->what));
  }
  std::stable_sort(all.begin(), all.end(), stands_before);
  return all;
}

planner::KeyPlace place_of_rule(std::span<const RuleKey> keys, std::string_view rule,
                                const Settings& settings, const std::string& file) {
  const auto own = std::find_if(keys.begin(), keys.end(), [&](const RuleKey& k) { return k.rule == rule; });
  const std::string_view key = own == keys.end() ? keys.back().key : own->key;
  return {std::string(key), settings.at(key, file)};
}

Breach undivided_ranks(std::int64_t degrees, std::int64_t ranks) {
  return {fmt::format("TP x PP x CP is {}, which does not divide {} ranks", degrees, ranks),
          fmt::format("fix the degrees, or give --nodes for a multiple of {} ranks", degrees)};
}

Breach undivided_batch(std::int64_t batch, std::int64_t slice) {
  return {fmt::format("{} is not a multiple of {} sequences", batch, slice),
          fmt::format("write {}", next_multiple(batch, slice))};
}

}  // namespace trnplan::targets
