// explain: the meaning of an id that is printed with a refusal, a finding or a remark. Each id is a row of
// api/rules/*.yaml, which the build embeds in the program; docs/rules.md is generated from the same rows.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace trnplan::api {

struct RuleRow {
  std::string id;
  /// The requirement, or the statement; the text before the first ';' is its clause in a list.
  std::string what;
  std::string why;
  std::string fix;                   ///< change that satisfies it
  std::vector<std::string> sources;  ///< "repository@commit:path", or a page of docs/; never empty
};
/// Rows with ids that the same part of the program prints. Another set may use the same id.
struct RuleSet {
  std::string name, title, about;
  std::vector<RuleRow> rules;
};

/// Files of api/rules/ by name, as embedded by the build.
const std::map<std::string_view, std::string_view>& rule_files();
/// All sets, in the order of their files.
const std::vector<RuleSet>& rule_sets();
/// First source of a row of the set; "" if there is no such row.
[[nodiscard]] std::string source_of(std::string_view set, std::string_view id);

struct ExplainRequest {
  std::string id;  ///< "" = all of them
};
struct ExplainResult {
  std::vector<RuleSet> sets;  ///< those that contain the id, with only its rows
};
/// Throws InputError for an id that no set contains, with similar ids.
[[nodiscard]] ExplainResult explain(const ExplainRequest& request);

}  // namespace trnplan::api
