// Training loops of pretrain_gpt.py and of Megatron-Bridge, by the flags for experts that tell them apart.
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

#include "models/framework/framework.h"

namespace trnplan::targets {

struct MegatronLoop {
  std::string_view name;  ///< of models/framework
  bool bridge;            ///< Megatron-Bridge's
  bool flex;              ///< --moe-token-dispatcher-type flex; else alltoall
  bool overlaps;          ///< --overlap-moe-expert-parallel-comm
};
inline constexpr MegatronLoop kMegatronLoops[] = {
    {"megatron", false, false, false},
    {"megatron-flex", false, true, false},
    {"megatron-ep-overlap", false, false, true},
    {"megatron-flex-ep-overlap", false, true, true},
    {"megatron-bridge", true, false, false},
    {"megatron-bridge-flex", true, true, false},
    {"megatron-bridge-ep-overlap", true, false, true},
    {"megatron-bridge-flex-ep-overlap", true, true, true},
};

/// The loop with these flags.
[[nodiscard]] constexpr const MegatronLoop& megatron_loop(bool bridge, bool flex, bool overlaps) {
  return *std::find_if(std::begin(kMegatronLoops), std::end(kMegatronLoops), [&](const MegatronLoop& l) {
    return l.bridge == bridge && l.flex == flex && l.overlaps == overlaps;
  });
}

/// The loop of a strategy if pretrain_gpt.py has it; else null.
[[nodiscard]] inline const MegatronLoop* pretrain_gpt_loop(const models::Strategy& s) {
  for (const MegatronLoop& loop : kMegatronLoops)
    if (!loop.bridge && s.framework == models::stated_framework(loop.name)) return &loop;
  return nullptr;
}

/// The loop of pretrain_gpt.py with the same flags for experts; the usual one for a strategy of none of these loops.
[[nodiscard]] inline const MegatronLoop& nearest_pretrain_gpt(const models::Strategy& s) {
  for (const MegatronLoop& loop : kMegatronLoops)
    if (s.framework == models::stated_framework(loop.name))
      return megatron_loop(false, loop.flex, loop.overlaps);
  return megatron_loop(false, false, false);
}

}  // namespace trnplan::targets
