// Results as text for people. All return whole lines.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/collective/collective_timing.h"
#include "models/framework/strategy_words.h"
#include "models/job/job.h"
#include "models/parameters/profile.h"
#include "planner/plan/plan.h"
#include "planner/search/search.h"
#include "targets/nxdt/nxdt_config.h"
#include "text/figures.h"
#include "topology/verdict.h"

namespace trnplan::cli {

/// "llama3-8b, sequence 8192, batch 1024, on 1 x trn1.32xlarge (32 cores)"; with a precision other than
/// mixed_precision, and the choices that the job leaves open: "batch 512 to 2048, any precision, on 4, 8 or
/// 16 x trn1.32xlarge".
std::string job_line(const models::Job& job);
/// "as measured: 161 GB/s on 32 nodes (all-reduce)"; for a plan whose step depends on a network that was not
/// measured how to state one; else "".
std::string network_words(const planner::Plan& plan);
/// Number of GiB: "14.25".
std::string gib(Bytes b);
using models::degree_words;
using models::layout_words;
using models::strategy_words;
/// "tensor engine", or on GPUs "matrix products (tensor cores)"; may follow "the".
const char* resource_words(models::Resource r, topology::Accelerator of);
/// True for resources of which a better machine needs less: latency, launches.
bool is_duration(models::Resource r);
/// "tensor parallel" in the breakdown of a step.
const char* cause_words(models::Category c);
/// Ranked plans, one line each, or two if there is no room. `first_is_better`: for all except the first; may
/// be empty.
std::string plan_table(const models::Job& job, const std::vector<planner::Plan>& plans,
                       const std::vector<std::optional<double>>& first_is_better, int width,
                       std::size_t recommended = 0);
/// Probability of compiling, or of working, below which a plan's text states it.
inline constexpr double kSurely = 0.95;
/// "89.4 %"; "> 99.9 %" and "< 0.1 %", never 0 or 1, even if a model computes exactly that.
std::string probability_text(double probability);
/// The same in whole per cent, for a column: "89 %", "> 99 %", "< 1 %".
std::string short_probability(double probability);
/// Step, throughput, both MFUs, breakdown, memory and price of one plan; with `whole_run` also the time for
/// the job's tokens.
std::string plan_details(const planner::Plan& plan, bool whole_run, int width);
/// The same in some ten lines, with the memory of the fullest device.
std::string plan_outline(const planner::Plan& plan);
/// "T005 ran: gpt3-6.7b on ...; here TP 4 against 8": the nearest published job, and its differences from the
/// plan.
std::string nearest_case_text(const planner::Experience& known);
/// "its graph is 1.4 times as large as the largest that is known to compile, 3.1 million instructions (run T005 of
/// the catalogue)"; "" if it is not larger.
std::string beyond_known_graphs(const planner::Plan& plan);
/// Operators that take most of the critical path, and the change of the step with each part of the machine.
std::string critical_path(const planner::Plan& plan);
/// Parts of each stage's peak under the strategy on such devices; equal neighbours share a column.
std::string memory_table(const models::Memory& memory, const models::Strategy& strategy,
                         topology::Accelerator on, int width);
/// Seconds by which each cause makes a step longer or shorter than another one, the largest first, without those
/// below 0.5 % of it: "compute +80.0, pipeline bubble -1.95".
std::string seconds_by_cause(const models::StepReport& now, const models::StepReport& before);
/// Time that the second plan loses against the first, in seconds by cause.
std::string comparison(const planner::Plan& winner, const planner::Plan& other);
/// Seconds to three or four significant digits.
std::string seconds_text(Seconds s);
/// Place, rule, message and fix of each; with `sources` also its source.
std::string findings_text(const std::vector<targets::Finding>& findings, bool sources);
/// Verdict on each kind of group with its rings, and the offending group, also in a drawing of the torus.
/// `advice` follows the verdict: whole lines or none. Then links, NICs and rings of a node.
std::string topology_text(const topology::Cluster& cluster, const topology::ChipGraph& graph,
                          const topology::PlacementVerdict& verdict, const std::string& advice);

/// Parts of one collective's time, and the verdict on its group; without a path for its bytes only the
/// verdict. `fix`: how to get a supported group, may be empty.
std::string collective_text(const topology::Cluster& cluster, const std::string& profile,
                            const models::TimedCollective& timed, const std::string& fix);

/// Columns of the table other than sizes and times.
struct CollectiveTable {
  std::string type;       ///< "fp32"
  int element_bytes = 4;  ///< of that type
  bool in_graph = false;  ///< time inside a compiled graph, as a line above the header states
  bool algorithm = false;
};
/// Table that nccom-test prints, in its words from `time:avg(us)` on; its GB/s are 2^30 bytes/s. Requires: at
/// least one row.
std::string collective_table(const std::vector<models::TimedCollective>& rows, const CollectiveTable& style);

}  // namespace trnplan::cli
