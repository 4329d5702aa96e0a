// Results as text for people. All return whole lines.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/collective_json.h"
#include "models/job.h"
#include "planner/nxdt_config.h"
#include "planner/plan.h"
#include "planner/search.h"
#include "topology/verdict.h"

namespace trnplan::cli {

/// "llama3-8b, sequence 8192, global batch 1024, mixed_precision, on 1 x trn1.32xlarge (32 cores)"; with what
/// the job leaves free: "global batch 512 to 2048, any precision, on 4, 8 or 16 x trn1.32xlarge".
std::string job_line(const models::Job& job);
/// Ranked plans, one line each; `first_is_better` of all but the first, may be empty.
std::string plan_table(const std::vector<planner::Plan>& plans,
                       const std::vector<std::optional<double>>& first_is_better = {});
/// "89.4 %", as "> 99.9 %" never rounded to certainty.
std::string probability_text(double probability);
/// Step, throughput, MFU both ways, breakdown, memory, price of one plan.
std::string plan_details(const planner::Plan& plan);
/// The operators that take most of the critical path, and by how much each part of the machine changes the
/// step.
std::string critical_path(const models::StepReport& report);
/// Bytes of each stage's peak; equal stages share a line.
std::string memory_table(const models::Memory& memory);
/// Where the second plan loses time against the first, in seconds by cause.
std::string comparison(const planner::Plan& winner, const planner::Plan& other);
/// Seconds to three or four significant digits.
std::string seconds_text(Seconds s);
std::string findings_text(const std::vector<planner::Finding>& findings);
/// Links, NICs and rings of a node; the verdict on each kind of group with its rings; the offending group in
/// a drawing of the torus.
std::string topology_text(const topology::Cluster& cluster, const topology::ChipGraph& graph,
                          const topology::PlacementVerdict& verdict);

/// What one collective's time is made of, and the verdict on its group; without a way for its bytes the
/// verdict alone. `fix`: how to get a supported group, may be empty.
std::string collective_text(const topology::Cluster& cluster, const std::string& profile,
                            const io::TimedCollective& timed, const std::string& fix);

/// What the table shows beside sizes and times.
struct CollectiveTable {
  std::string type;       ///< "fp32"
  int element_bytes = 4;  ///< of that type
  bool in_graph = false;  ///< time inside a compiled graph, which a line above the header says
  bool algorithm = false;
};
/// The table nccom-test prints, from `time:avg(us)` on in its words; its GB/s are 2^30 bytes/s. Needs at
/// least one row.
std::string collective_table(const std::vector<io::TimedCollective>& rows, const CollectiveTable& style);

}  // namespace trnplan::cli
