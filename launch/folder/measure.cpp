#include "launch/folder/measure.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "io/input/plan_file.h"
#include "launch/folder/bundle.h"
#include "launch/folder/scripts.h"
#include "launch/folder/templates.h"
#include "models/framework/strategy_words.h"
#include "text/shell_words.h"

namespace trnplan::launch {

namespace {

/// Files of a bundle that a short run needs in addition to the target's configs, if the bundle has them.
constexpr std::array<std::string_view, 7> kNeeded = {"config.json", "settings.env",   "setup_env.sh",
                                                     "node_run.sh", "compile.sbatch", "train.sbatch",
                                                     io::kPlanFile};

bool has_runs(const planner::Experiment& m) {
  return m.tables.empty();
}

int nodes_of(const planner::Experiment& m) {
  int nodes = 1;
  for (const planner::TableRequest& t : m.tables) nodes = std::max(nodes, t.nodes);
  return nodes;
}

std::string head(const planner::Plan& first, const planner::Plan& second, const planner::Experiment& m,
                 const planner::Target& target) {
  return fmt::format(R"sh(#!/usr/bin/env bash
# Measures which of the first two plans is better, then plans again: bash measure.sh, on the head node of the Slurm
# cluster, or without Slurm on the node itself. Takes about {:.1f} node-hours; when it is called again, it skips runs
# that are done.
# Plan 1: {}
# Plan 2: {}
# {}
set -euo pipefail

)sh",
                     m.node_hours, models::strategy_words(first.strategy),
                     models::strategy_words(second.strategy), target.support());
}

/// `modes`: of node_run.sh; `compiles`: the line that compiles for the first run, or "".
constexpr std::string_view kRunFunctions = R"sh(# work FOLDER {modes}: waits for its end.
work() {{
  if command -v sbatch >/dev/null; then
    sbatch --wait --parsable "${{partition[@]}}" --chdir="$1" -- "$1/$2.sbatch" "$1"
  else
    (cd -- "$1" && bash node_run.sh "$1" "$2") 2>&1 | tee -- "$1/$2-here.out"
  fi
}}

# run PLAN NUMBER: a run that failed, or that belongs to another plan, starts again.{once}
runs=()
run() {{
  local folder=$plan/measure-$1-run-$2
  runs+=(--run "$folder")
  if [[ -e "$folder/done" ]] && cmp -s -- "$plan/measure-$1/plan.json" "$folder/plan.json"; then return; fi
  rm -rf -- "${{folder:?}}"
  mkdir -- "$folder"
  cp -- "$plan/measure-$1/"* "$folder/"
{compiles}  work "$folder" train
  touch -- "$folder/done"
}}

)sh";

/// The two plans alternate, so that drift affects both equally.
std::string run_text(const planner::Experiment& m, bool compiles) {
  std::string text = fmt::format(
      fmt::runtime(kRunFunctions), fmt::arg("modes", compiles ? "compile|train" : "train"),
      fmt::arg("once", compiles ? " Graphs are compiled once, for the first." : ""),
      fmt::arg("compiles", compiles ? "  if (($2 == 1)); then work \"$folder\" compile; fi\n" : ""));
  for (int i = 1; i <= std::max(m.runs_of_first, m.runs_of_second); ++i) {
    if (i <= m.runs_of_first) text += fmt::format("run 1 {}\n", i);
    if (i <= m.runs_of_second) text += fmt::format("run 2 {}\n", i);
  }
  return text +
         "rm -f -- \"$plan/measured.json\"\n"
         "\"$trnplan\" calibrate \"${runs[@]}\" --profile \"$profile\" --out \"$plan/measured.json\"\n";
}

std::string tables_text(const planner::Experiment& m) {
  std::string text = nccom_table() + "\ntables() {\n";
  for (const planner::TableRequest& t : m.tables)
    text += fmt::format("  table {} {} {}\n", t.ranks, t.nodes, command_line(planner::nccom_command(t)));
  return text + fmt::format(R"sh(}}

if [[ "${{1:-}}" == tables ]]; then
  tables
  exit
fi
if command -v sbatch >/dev/null; then
  sbatch --wait --parsable "${{partition[@]}}" --nodes={} --exclusive --chdir="$plan" --output="$plan/measured-tables.out" \
    -- "$plan/measure.sh" tables "$plan" || {{
    echo "[measure] not all tables were measured; the reason is in $plan/measured-tables.out" >&2
    exit 1
  }}
else
  tables 2>&1 | tee -- "$plan/measured-tables.out"
fi
rm -f -- "$plan/measured.json"
"$trnplan" calibrate "$plan/measured-tables.out" --with-catalogue --profile "$profile" --out "$plan/measured.json"
)sh",
                            nodes_of(m));
}

io::OutputFile script_of(const models::Job& job, const planner::Plan& first, const planner::Plan& second,
                         const planner::Experiment& m, const planner::Target& target, const MeasureUse& use) {
  std::string text = head(first, second, m, target) + measure_values(use, has_runs(m), job, target) +
                     (has_runs(m) ? run_text(m, target.compiles_ahead()) : tables_text(m)) +
                     "\"$trnplan\" plan \"$job\" ";
  if (!use.options.empty()) text += command_line(use.options) + " ";
  text += "--profile \"$plan/measured.json\"\n";
  if (has_runs(m)) {
    text += fmt::format(
        "printf '\\n%s\\n%s\\n' 'The ranking above has learnt from the runs, also what each plan took.' "
        "\"{}\"\n",
        rule_text(m));
  }
  return {"measure.sh", text, true};
}

/// Files of a training job of a few steps.
void add_short_run(std::vector<io::OutputFile>& files, models::Job job, const planner::Plan& plan,
                   const planner::Target& target, const char* folder) {
  job = planner::as_planned(std::move(job), plan);
  job.training.tokens =
      static_cast<double>(planner::kShortRunSteps) * job.training.sequence * plan.global_batch;
  // Warm-up and logging of the whole run take longer than this one.
  job.learning.warmup_steps.reset();
  job.learning.constant_steps.reset();
  job.run.log_steps.reset();
  job.run.log_dir.clear();  // else the next run would resume it
  std::vector<io::OutputFile> files_of_plan = bundle(job, plan, target);
  const std::vector<planner::ConfigFile> configs = target.emit(
      job, plan.strategy,
      {.heading = "A short run of: " + models::strategy_words(plan.strategy), .log_every_step = true});
  for (io::OutputFile& f : files_of_plan) {
    const auto config =
        std::find_if(configs.begin(), configs.end(), [&](const auto& c) { return c.name == f.name; });
    if (config != configs.end()) {
      f.text = config->text;
    } else if (std::find(kNeeded.begin(), kNeeded.end(), f.name) == kNeeded.end()) {
      continue;
    }
    f.folder = folder;
    files.push_back(std::move(f));
  }
}

}  // namespace

std::string measure_values(const MeasureUse& use, bool runs, const models::Job& job,
                           const planner::Target& target) {
  // sbatch runs a copy of the file, so the original folder is passed to tables.
  std::string text = std::string("plan=") + (runs ? "" : "${2:-") +
                     "$(cd \"$(dirname \"${BASH_SOURCE[0]}\")\" && pwd)" + (runs ? "\n" : "}\n") +
                     "# shellcheck disable=SC2016\n"
                     "job=" +
                     command_line({use.job}) +
                     "\n"
                     "# shellcheck disable=SC2016\n"
                     "profile=" +
                     command_line({use.profile}) +
                     "\n"
                     "trnplan=${TRNPLAN:-trnplan}\n"
                     "# shellcheck source=/dev/null\n"
                     ". \"$plan/setup_env.sh\"\n";
  if (runs) {
    text += ": \"${TRNPLAN_VENV:?fill in settings.env}\" \"${TRNPLAN_CODE:?fill in settings.env}\"";
    const bool data = target.reads_data(job);
    if (data) text += " \"${TRNPLAN_DATA:?fill in settings.env}\"";
    text +=
        "\n# The runs have a settings.env of their own; the environment goes before it.\n"
        "export TRNPLAN_VENV TRNPLAN_CODE";
    if (data) text += " TRNPLAN_DATA";
    text += " TRNPLAN_CACHE TRNPLAN_LOCAL_CACHE TRNPLAN_RESTARTS=0";
    for (const planner::PersonValue& v : target.asked_for(job)) text += " " + v.name;
    text += "\n";
  }
  return text +
         "partition=()\n"
         "if [[ -n \"$TRNPLAN_PARTITION\" ]]; then partition=(--partition=\"$TRNPLAN_PARTITION\"); fi\n\n";
}

std::string nccom_table() {
  return filled("nccom_table.sh", {{"port", std::to_string(kMasterPort)}});
}

std::string rule_text(const planner::Experiment& m) {
  if (!has_runs(m)) return "";
  const char* side = m.above ? "above" : "below";
  if (m.runs_of_first > 0 && m.runs_of_second > 0) {
    return fmt::format(
        "By the measurement plan 2 is the better choice if its step is {} {:.4f} times that of plan 1.", side,
        m.threshold);
  }
  return fmt::format("By the measurement plan 2 is the better choice if {} step is {} {:.4g} s.",
                     m.runs_of_first > 0 ? "plan 1's" : "its", side, m.threshold);
}

std::vector<io::OutputFile> measure_files(const models::Job& job, const planner::Plan& first,
                                          const planner::Plan& second, const planner::Experiment& m,
                                          const planner::Target& target, const MeasureUse& use) {
  std::vector<io::OutputFile> files{script_of(job, first, second, m, target, use)};
  if (m.runs_of_first > 0) add_short_run(files, job, first, target, "measure-1");
  if (m.runs_of_second > 0) add_short_run(files, job, second, target, "measure-2");
  return files;
}

}  // namespace trnplan::launch
