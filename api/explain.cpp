#include "api/explain.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "io/input/job_input.h"
#include "text/diagnostic.h"
#include "text/document.h"

namespace trnplan::api {

namespace {

constexpr std::string_view kPrefixes = "sources.yaml";

Node tree_of(std::string_view file) {
  return parse_document(std::string(rule_files().at(file)), std::string(file));
}

std::vector<std::string> split_sources(std::string_view text, const Node& prefixes) {
  std::vector<std::string> all;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find("; "), text.size());
    const std::string_view one = text.substr(0, end), word = one.substr(0, one.find(' '));
    const Node* prefix = prefixes.find(word);
    all.push_back(prefix == nullptr ? std::string(one)
                                    : prefix->scalar + std::string(one.substr(word.size() + 1)));
    text.remove_prefix(std::min(end + 2, text.size()));
  }
  return all;
}

RuleSet read_set(std::string_view file, const Node& prefixes) {
  const Node root = tree_of(file);
  std::vector<Diagnostic> faults;
  MapReader map(root, "", faults);
  RuleSet set{map.required_text("name"), map.required_text("title"), map.required_text("about"), {}};
  for (const Node& item : map.raw("rules")->items) {
    MapReader row(item, "rules", faults);
    set.rules.push_back({row.required_text("id"), row.required_text("what"), row.required_text("why"),
                         row.required_text("fix"), split_sources(row.required_text("source"), prefixes)});
    row.finish();
  }
  map.finish();
  if (!faults.empty()) throw InputError(std::move(faults));
  return set;
}

/// Id with the most similar spelling, and the ids that contain the text.
std::vector<std::string> near_misses(const std::string& id) {
  constexpr std::size_t kMost = 4;
  std::vector<std::string> ids, near;
  for (const RuleSet& set : rule_sets())
    for (const RuleRow& row : set.rules) ids.push_back(row.id);
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  if (const std::string like = nearest(id, ids); !like.empty()) near.push_back(like);
  for (const std::string& one : ids)
    if (near.size() < kMost && id.size() > 2 && one.find(id) != std::string::npos &&
        std::find(near.begin(), near.end(), one) == near.end())
      near.push_back(one);
  return near;
}

}  // namespace

const std::vector<RuleSet>& rule_sets() {
  static const std::vector<RuleSet> sets = [] {
    const Node prefixes = tree_of(kPrefixes);
    std::vector<RuleSet> all;
    for (const auto& [file, text] : rule_files())
      if (file != kPrefixes) all.push_back(read_set(file, prefixes));
    return all;
  }();
  return sets;
}

std::string source_of(std::string_view set, std::string_view id) {
  for (const RuleSet& s : rule_sets())
    for (const RuleRow& row : s.rules)
      if (s.name == set && row.id == id) return row.sources.front();
  return "";
}

ExplainResult explain(const ExplainRequest& request) {
  ExplainResult result{rule_sets()};
  if (request.id.empty()) return result;
  for (RuleSet& set : result.sets)
    std::erase_if(set.rules, [&](const RuleRow& r) { return r.id != request.id; });
  std::erase_if(result.sets, [](const RuleSet& set) { return set.rules.empty(); });
  if (!result.sets.empty()) return result;
  const std::vector<std::string> near = near_misses(request.id);
  throw InputError(
      {{io::kCommandLine, 0, 0},
       in_quotes(request.id),
       "no refusal, finding or remark has this id",
       near.empty() ? "trnplan explain lists all" : fmt::format("did you mean {}?", fmt::join(near, ", "))});
}

}  // namespace trnplan::api
