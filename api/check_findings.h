// What check finds of a file, as findings: the rules' verdict on a strategy, doubts, memory, remarks. Private to check.
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

/// The file at hand, as findings of its strategy need it.
struct FileAtHand {
  /// The key that a rule of strategies is about, and where it stands.
  std::function<planner::KeyPlace(std::string_view rule)> place_of;
  std::string_view loop;  ///< the training loop that it starts; "" = NxD's
  /// Why the memory that is predicted is more than the run's, a clause, so that it proves nothing; "" = it does.
  std::string loose_memory = {};
};

void note(std::vector<targets::Finding>& findings, std::string rule, std::string message);

/// Adds what the rules say about the strategy unless it is said of a key already.
void add_violations(std::vector<targets::Finding>& findings, const std::vector<planner::Violation>& broken,
                    const FileAtHand& file);

/// A strategy that no rule refuses, but of which it is doubtful that it compiles or fits; each of the two once, whoever
/// says it. True where there is a doubt.
bool add_doubts(std::vector<targets::Finding>& findings, const planner::Judgement& judgement,
                const FileAtHand& file);

/// A config without a prediction still shows that it fits.
void add_memory(std::vector<targets::Finding>& findings, const std::optional<models::Memory>& memory,
                const topology::Instance& instance, const FileAtHand& file);

/// The target does not train on the machine: an error. True where it does.
bool trains_there(std::vector<targets::Finding>& findings, const planner::Target& target,
                  const topology::Instance& machine);

/// The job that a file describes, resolved; what was assumed becomes notes.
ResolvedJob resolved_run(std::vector<targets::Finding>& findings, const CheckRequest& request,
                         models::Job job);

/// Nodes of the catalogue for hosts that a file counts. Throws InputError where they make no whole nodes, or too many.
int nodes_of(int hosts, const topology::Instance& machine, const SourcePos& at, const std::string& key);

}  // namespace trnplan::api
