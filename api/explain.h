// explain: what an id stands for that is printed with a refusal, a finding or a remark. Each is a row of api/rules/*.yaml,
// which the build puts into the program; docs/rules.md is made of the same rows.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace trnplan::api {

struct RuleRow {
  std::string id;
  std::string
      what;  ///< what must hold, or what is said: up to the first ';' a clause that stands for it in a list
  std::string why;
  std::string fix;                   ///< what would satisfy it
  std::vector<std::string> sources;  ///< "repository@commit:path", or a page of docs/; never empty
};
/// Rows whose ids are printed by the same part of the program. Another set may have the same id.
struct RuleSet {
  std::string name, title, about;
  std::vector<RuleRow> rules;
};

/// The files of api/rules/ by name, as the build embeds them.
const std::map<std::string_view, std::string_view>& rule_files();
/// All sets, in the order of their files.
const std::vector<RuleSet>& rule_sets();
/// The first source of a row of the set; "" where there is no such row.
[[nodiscard]] std::string source_of(std::string_view set, std::string_view id);

struct ExplainRequest {
  std::string id;  ///< "": all of them
};
struct ExplainResult {
  std::vector<RuleSet> sets;  ///< those that have the id, with its rows alone
};
/// Throws InputError for an id that no set has, with what is near it.
[[nodiscard]] ExplainResult explain(const ExplainRequest& request);

}  // namespace trnplan::api
