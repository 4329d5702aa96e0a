// Exchanges whose parts do the same, as one of their parts.
//
// When exchanges are the same after all members and resources have been moved on by one part
// (Exchange::parts), every part does the same at the same time: fair sharing is to the last bit that of the
// moved problem. Then one part, whose messages to the next part come from the part before, stands for all.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/exchange.h"

namespace trnplan::sim {

/// The first part of each exchange: as many resources, members and messages of each round as a part has.
struct FoldedExchanges {
  std::uint32_t parts = 1;
  std::vector<double> capacity;
  std::vector<Exchange> exchanges;
};

/// nullopt where the exchanges have no parts, or parts that are not the same. Cost: O(messages of one step of
/// every round).
std::optional<FoldedExchanges> fold(const std::vector<double>& capacity,
                                    const std::vector<Exchange>& exchanges);

}  // namespace trnplan::sim
