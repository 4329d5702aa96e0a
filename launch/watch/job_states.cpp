#include "launch/watch/job_states.h"

namespace trnplan::launch {

namespace {

using logs::FailureKind;

constexpr JobStateTraits kStates[] = {
    {"COMPLETED", true, false, std::nullopt},
    {"FAILED", true, true, std::nullopt},
    {"CANCELLED", true, true, FailureKind::cancelled},
    {"PREEMPTED", true, true, FailureKind::cancelled},
    {"TIMEOUT", true, true, FailureKind::time_limit},
    {"DEADLINE", true, true, FailureKind::time_limit},
    {"NODE_FAIL", true, true, FailureKind::node_failure},
    {"BOOT_FAIL", true, true, FailureKind::node_failure},
    {"OUT_OF_MEMORY", true, true, FailureKind::host_memory},
    {kForgotten, true, false, std::nullopt},
};

}  // namespace

JobStateTraits job_state(std::string_view name) {
  for (const JobStateTraits& state : kStates) {
    if (state.name == name) return state;
  }
  return {};
}

}  // namespace trnplan::launch
