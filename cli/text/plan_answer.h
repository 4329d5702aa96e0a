// Answer of `plan` in about ten lines: the best plan, equally good ones, its limits, and refused plans.
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

/// Result of `plan`, and its options other than the job.
struct Answer {
  const models::Job& job;
  const planner::SearchResult& result;
  const planner::Confidence& confidence;
  std::vector<planner::Tie> ties;
  const targets::Baseline* baseline = nullptr;  ///< may be null
  std::string baseline_file;
  std::string folder;  ///< of --out if it was written, else empty
  std::string script;  ///< its measure.sh, if any; else empty
  bool details = false;
  std::string refused_folder = {};                     ///< of --out if it could not be written, else empty
  std::vector<planner::Outlook> outlooks = {};         ///< of the plans, in their order; may be empty
  const api::TargetRefusal* target_refusal = nullptr;  ///< reason why there is no plan; may be null
  const api::WrittenTraining* training = nullptr;      ///< training of the folder; may be null
  bool writable = true;                                ///< a folder can be written for the recommended plan
  bool measures = true;                      ///< its folders get a measure.sh if that resolves a tie
  std::vector<api::OtherStack> others = {};  ///< other stacks that were searched and have a plan
};

/// A label at the left, and text to its right; further lines are aligned with the text.
std::string entry(const char* label, const std::string& text);

/// Parts of a line; none of them is broken over two lines.
std::string fields(const std::vector<std::string>& parts);

/// "15.1 of 16 GiB", "16.03 of 16 GiB": with enough digits that different values look different.
std::string of_memory(const models::Memory& m);

/// "no run of fsdp on trn2.48xlarge was ever compared: ..." with the width that follows, and "torchtitan was
/// not measured on your p5.48xlarge, but megatron was: ..."; "" if neither holds.
std::string unknown_text(const planner::Plan& plan);

/// Line for a plan whose global batch makes stages wait for each other, with one that does not; else "".
std::string batch_text(const planner::Plan& plan);

/// Line for a plan with a graph larger than any known to compile; else "". `compiles`: the probability; none
/// if a line above has stated it.
std::string graph_warning(const planner::Plan& plan, std::optional<double> compiles);

/// Whole lines; not yet wrapped.
std::string plan_answer(const Answer& a);

}  // namespace trnplan::cli
