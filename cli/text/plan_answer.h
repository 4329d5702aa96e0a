// The answer of `plan` in about ten lines: what is best, what is as good, what limits it, what is ruled out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/plan.h"
#include "api/target_refusal.h"
#include "models/job/job.h"
#include "planner/confidence/experiment.h"
#include "planner/confidence/recommendation.h"
#include "planner/confidence/ties.h"
#include "planner/search/search.h"
#include "targets/nxdt/baseline.h"

namespace trnplan::cli {

/// What `plan` found, and what it was asked for besides the job.
struct Answer {
  const models::Job& job;
  const planner::SearchResult& result;
  const planner::Confidence& confidence;
  std::vector<planner::Tie> ties;
  const targets::Baseline* baseline = nullptr;  ///< may be null
  std::string baseline_file;
  std::string folder;  ///< of --out, where it was written, else empty
  std::string script;  ///< measure.sh in it, where there is one, else empty
  bool details = false;
  std::string refused_folder = {};              ///< of --out, where it could not be written, else empty
  std::vector<planner::Outlook> outlooks = {};  ///< of the plans, in their order; may be empty
  const api::TargetRefusal* target_refusal = nullptr;  ///< why there is no plan; may be null
  const api::WrittenTraining* training = nullptr;      ///< what the folder trains; may be null
  bool writable = true;                                ///< the target can say the recommended plan
  bool measures = true;  ///< its folders get a measure.sh where that decides a tie
};

/// A label on the left, its text beside it, the lines that follow below the text.
std::string entry(const char* label, const std::string& text);

/// Parts of a line, none of them broken over two.
std::string fields(const std::vector<std::string>& parts);

/// "15.1 of 16 GiB", "16.03 of 16 GiB": what differs reads differently.
std::string of_memory(const models::Memory& m);

/// A line where the plan's graph is larger than any that is known to compile; else none. `compiles`: how surely;
/// none where a line above has said it.
std::string graph_warning(const planner::Plan& plan, std::optional<double> compiles);

/// Whole lines; not yet wrapped.
std::string plan_answer(const Answer& a);

/// Those nearest to what people try first: plain strategies that nearly work; one of each layout and rule, at
/// most `of_one_rule` of a rule.
std::vector<const planner::Refusal*> nearest_refusals(const std::vector<planner::Refusal>& list,
                                                      std::size_t most, int of_one_rule);
/// A memory refusal that no setting of the layout would mend.
bool is_far(const planner::Refusal& r);

}  // namespace trnplan::cli
