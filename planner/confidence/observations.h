// Observations of replica groups and memory in runs, kept in a profile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/job/job.h"
#include "models/job/strategy.h"
#include "planner/plan/plan.h"
#include "topology/verdict.h"

namespace trnplan::planner {

/// One observation. `rule` says which fields count: for "replica-group" those of a group, for "memory" those
/// of a plan.
struct Observation {
  std::string rule;
  bool accepted = false;  ///< the runtime took it; false: it refused
  std::string instance;   ///< type of the nodes
  // replica-group
  std::string kind;        ///< "tp", "pp", "dp", "cp", "kv"; "" if the log does not say: any
  std::vector<int> ranks;  ///< ascending
  std::vector<int> chips;  ///< of the group's local part, ascending
  int nodes = 1;           ///< that the group touches; of "memory": of the run, 1 if it was not recorded
  // memory
  std::string model;            ///< its name
  std::int64_t parameters = 0;  ///< of the model; 0: not recorded
  models::Strategy strategy;
  /// False in observations of older versions: precision, flash attention, KV replicas and ZeRO-1's bucket of
  /// `strategy` are not known then, and may have been any.
  bool strategy_whole = true;
  int sequence = 0;  ///< tokens
  double bytes = 0;  ///< per core, as the compiler or the runtime reported; 0: neither did
  // where it was seen
  std::string file;    ///< without folders
  std::string sha256;  ///< of its bytes, hexadecimal
  int line = 0;
};

/// Observation that a plan had enough memory, or had not, without the place where it was seen.
Observation memory_of_run(const models::Job& job, const models::Strategy& strategy, bool accepted);

/// True if both are the same observation of the same file; lines may differ. A value that one of them does
/// not record counts as equal.
bool same_case(const Observation& a, const Observation& b);

/// True if the observation is of this network. Its name counts where its size was not recorded, and for experts, which
/// differ without a difference in size: a config names a network otherwise than a job.
bool is_of(const Observation& observation, const models::Architecture& network);

/// Remark on a group's verdict from observations of a group of this kind on the same chips, with as many
/// ranks on as many nodes of the type. "" without any. "observed in FILE:LINE" if they agree or the verdict
/// was doubtful; "but FILE:LINE shows that the runtime refused|accepted it" if they contradict each other.
std::string observed(const std::vector<Observation>& observations, const topology::Instance& instance,
                     const topology::GroupVerdict& group);

/// True if runs of the very same strategy, model, sequence and type of node fit, false if one of them did not. Absent:
/// none was seen, or --set changed numbers of the type.
std::optional<bool> seen_to_fit(const std::vector<Observation>& observations, const models::Job& job,
                                const models::Strategy& strategy);

/// Remarks, a line each, on groups of a strategy that observations contradict, and on its memory, without the
/// groups' own verdicts. Those on memory are of the very same strategy, model and sequence; if the
/// observation does not record all of the strategy, the line says so. Cost: O(ranks x observations).
std::vector<std::string> remarks_on(const std::vector<Observation>& observations, const models::Job& job,
                                    const models::Strategy& strategy);

/// Lines on other plans than these that ran out of memory on the job's type of node: they make plans that need as much
/// less likely to fit.
std::vector<std::string> remarks_on_full(const std::vector<Observation>& observations, const models::Job& job,
                                         const std::vector<Plan>& but);

/// A replica-group violation of the strategy with what observations says of it; others stay as they are.
void annotate(Violation& violation, const std::vector<Observation>& observations, const models::Job& job,
              const models::Strategy& strategy);

}  // namespace trnplan::planner
