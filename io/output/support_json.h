// The documents of explain and support.
#pragma once

#include <string>
#include <vector>

namespace trnplan::io {

/// Meaning of an id in one set of rules or remarks.
struct ExplainedRule {
  std::string id, set, what, why, fix;
  std::vector<std::string> sources;
};

/// A target that trains on a machine; `why_not` and `ending` may be "".
struct TargetOfPair {
  std::string name, why_not, ending;
};

/// Support of a model on a type of machine.
struct SupportedPair {
  std::string model, instance;
  bool timed = false, planned = false;
  std::string why_not;
  std::vector<std::string> written, launched;
  std::vector<TargetOfPair> targets;
};

/// Documents that end in a newline.
[[nodiscard]] std::string explain_json(const std::vector<ExplainedRule>& rules);
[[nodiscard]] std::string support_json(const std::vector<SupportedPair>& pairs);

}  // namespace trnplan::io
