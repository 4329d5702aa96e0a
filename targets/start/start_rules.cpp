#include "targets/start/start_rules.h"

#include <algorithm>
#include <tuple>

namespace trnplan::targets {

namespace {

std::string pointed_at(const std::vector<std::string>& keys, const Settings& settings) {
  const auto stated =
      std::find_if(keys.begin(), keys.end(), [&](const std::string& k) { return settings.given(k); });
  return stated == keys.end() ? keys.front() : *stated;
}

}  // namespace

std::vector<planner::StartFault> start_faults(const StartTable& table, const Settings& settings,
                                              const StartFacts& facts, const std::string& file) {
  std::vector<planner::StartFault> all;
  for (const Diagnostic& d : settings.faults())
    all.push_back({"value", "value", d, table.keys_source, false});
  for (const StartRule& rule : table.rules) {
    const std::vector<std::string> keys = split_words(rule.keys);
    if (!std::all_of(keys.begin(), keys.end(), [&](const std::string& k) { return settings.readable(k); }))
      continue;
    auto breach = rule.broken(settings, facts);
    if (!breach) continue;
    const std::string key = breach->key.empty() ? pointed_at(keys, settings) : breach->key;
    all.push_back({rule.word,
                   rule.name,
                   {settings.at(key, file), key, std::move(breach->problem), std::move(breach->fix)},
                   rule.source,
                   breach->doubtful,
                   breach->clear});
  }
  std::stable_sort(all.begin(), all.end(), [](const planner::StartFault& a, const planner::StartFault& b) {
    return std::tie(a.what.at.line, a.what.at.column) < std::tie(b.what.at.line, b.what.at.column);
  });
  return all;
}

planner::KeyPlace place_of_rule(std::span<const RuleKey> keys, std::string_view rule,
                                const Settings& settings, const std::string& file) {
  const auto own = std::find_if(keys.begin(), keys.end(), [&](const RuleKey& k) { return k.rule == rule; });
  const std::string_view key = own == keys.end() ? keys.back().key : own->key;
  return {std::string(key), settings.at(key, file)};
}

}  // namespace trnplan::targets
