// Findings of check on a file: verdict of the rules on its strategy, doubts, memory, remarks. Private to
// check.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/check.h"
#include "api/resolve.h"
#include "planner/check/judge.h"
#include "planner/plan/target.h"

namespace trnplan::api {

/// Facts about the checked file that findings on its strategy use.
struct FileAtHand {
  /// Key that a rule of strategies is about, and its place.
  std::function<planner::KeyPlace(std::string_view rule)> place_of;
  std::string_view loop;  ///< training loop that it starts; "" = NxD's
  /// Reason, as a clause, why the predicted memory exceeds the run's, so that it proves nothing; "" if there
  /// is none.
  std::string loose_memory = {};
};

void note(std::vector<targets::Finding>& findings, std::string rule, std::string message);

/// Notes on what a prediction assumes of model and stack that the file does not state. The last one counts those on the
/// file's flags.
[[nodiscard]] std::vector<targets::Finding> assumptions(const std::vector<targets::Finding>& findings);
/// Words on a machine that a config leaves open.
[[nodiscard]] std::string assumed_machine(const std::string& instance);

/// Adds the violations of the strategy, except those already reported for a key.
void add_violations(std::vector<targets::Finding>& findings, const std::vector<planner::Violation>& broken,
                    const FileAtHand& file);

/// Adds doubts that a strategy without violations compiles or fits, each of the two once, whatever its
/// source. True if there is a doubt.
bool add_doubts(std::vector<targets::Finding>& findings, const planner::Judgement& judgement,
                const FileAtHand& file);

/// Adds that a config fits, even without a prediction.
void add_memory(std::vector<targets::Finding>& findings, const std::optional<models::Memory>& memory,
                const topology::Instance& instance, const FileAtHand& file);

/// Adds an error if the target does not train on the machine. True if it does.
bool trains_there(std::vector<targets::Finding>& findings, const planner::Target& target,
                  const topology::Instance& machine);

/// Resolves the job that a file describes. Assumptions become notes.
ResolvedJob resolved_run(std::vector<targets::Finding>& findings, const CheckRequest& request,
                         models::Job job);

/// Adds a warning if a file of a folder states other nodes than the folder's plan; `key` is the file's.
void add_other_nodes(std::vector<targets::Finding>& findings, const CheckRequest& request, int nodes,
                     const SourcePos& at, const std::string& key);

/// Nodes of the catalogue for the hosts that a file states. Throws InputError if they make no whole nodes, or
/// too many.
int nodes_of(int hosts, const topology::Instance& machine, const SourcePos& at, const std::string& key);

}  // namespace trnplan::api
