// A plan's folder against its plan.json, before anything of it is submitted.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "io/input/plan_file.h"
#include "text/diagnostic.h"

namespace trnplan::launch {

/// Every file that would run says what plan.json says; each fault names file, line and key.
///
///   scripts      what they do is what plan --out wrote. Comments and Slurm's directives may change, but for
///                the nodes and one task a node. Settings belong into setup_env.sh, which all of them read.
///   nxdt.yaml    (target nxdt) parses, has every key that plan --out writes, passes the linter without an
///                error, and states the plan's model, sequence, batch, nodes and strategy. All else may
///                change.
///   node_run.sh  has the flags of the plan's strategy (targets that take flags)
///
/// `manifests`: the files of Kubernetes that would be applied: nodes, devices of a node, instance
/// type and script must be the plan's; images, volumes, names and labels are the person's. Nothing is run.
std::vector<Diagnostic> folder_faults(const std::filesystem::path& folder, const io::PlanFile& plan,
                                      const std::vector<std::string>& manifests);

}  // namespace trnplan::launch
