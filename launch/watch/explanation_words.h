// Explanations of slow steps in words, with what to look at on the machine.
#pragma once

#include <string>
#include <vector>

#include "io/output/watch_json.h"
#include "launch/watch/explanations.h"

namespace trnplan::launch {

/// One entry per explanation, without their commands.
[[nodiscard]] std::vector<io::WatchExplanation> in_words(const std::vector<Explanation>& explanations,
                                                         const SlowSteps& slow, const models::Job& job);

/// Tests that tell apart those that are as likely as the first; "" if there are none.
[[nodiscard]] std::string how_to_tell(const std::vector<Explanation>& explanations);

}  // namespace trnplan::launch
