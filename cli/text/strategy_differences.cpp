#include "cli/text/strategy_differences.h"

#include <fmt/format.h>

#include "models/framework/framework.h"
#include "models/job/schedule.h"
#include "models/job/sharding_words.h"

namespace trnplan::cli {

std::vector<std::string> strategy_differences(const models::Strategy& s, const models::Strategy& other) {
  std::vector<std::string> apart;
  if (recompute_words(s) != recompute_words(other)) apart.push_back(recompute_words(s));
  if (s.pipeline_cuts != other.pipeline_cuts) {
    apart.emplace_back(s.pipeline_cuts.empty()       ? "even cuts"
                       : other.pipeline_cuts.empty() ? "cuts by hand"
                                                     : "other cuts by hand");
  }
  if (s.schedule != other.schedule) apart.push_back(fmt::format("schedule {}", to_string(s.schedule)));
  if (s.framework != other.framework)
    apart.push_back(fmt::format("framework {}", models::framework_of(s).name()));
  if (s.sequence_parallel != other.sequence_parallel)
    apart.emplace_back(s.sequence_parallel ? "sequence parallel" : "no sequence parallel");
  if (const std::string sharding = models::sharding_words(s); sharding != models::sharding_words(other))
    apart.push_back(sharding.empty() ? "ZeRO-1" : sharding.substr(2));
  if (s.flash_attention != other.flash_attention)
    apart.emplace_back(s.flash_attention ? "flash attention" : "plain attention");
  return apart;
}

}  // namespace trnplan::cli
