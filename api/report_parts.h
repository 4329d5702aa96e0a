// What the pages of several commands show, as the JSON that launch/report/page/ draws (docs/report.md lists the keys).
#pragma once

#include <string>
#include <vector>

#include "api/inputs.h"
#include "io/output/json_value.h"
#include "models/job/job.h"
#include "models/parameters/profile.h"
#include "planner/confidence/recommendation.h"
#include "planner/plan/plan.h"
#include "text/remarks.h"

namespace trnplan::api {

/// A file that a report goes to.
struct ReportFile {
  std::string path;    ///< empty: no report is asked for
  bool force = false;  ///< replaces the file that is there
};

/// Throws InputError where the report could not be written: its folder is missing, the file is there; or it is one of
/// `others`, which the command reads or writes besides. Before the work.
void check_report(const ReportFile& file, const std::vector<std::string>& others = {});
/// The page of `data`, whole or not at all. Throws InputError.
void write_report(const ReportFile& file, const io::JsonValue& data);

/// Most that a page has of each; what is left out is counted there.
inline constexpr std::size_t kPlansInReport = 60, kRefusedInReport = 60, kSlicesInReport = 20'000,
                             kRowsInReport = 4000;

/// What a page starts with: its kind, and what was said besides the result.
[[nodiscard]] io::JsonValue report_of(const char* kind, const std::vector<Remark>& remarks);

[[nodiscard]] io::JsonValue job_part(const models::Job& job);
[[nodiscard]] io::JsonValue strategy_part(const models::Strategy& s);
/// Step, throughput, breakdown, memory at the worst stage, price.
[[nodiscard]] io::JsonValue plan_part(const models::Job& job, const planner::Plan& plan);
/// `known`: of the memory's factors besides those of the profile, as the distance from known runs gives it (log-sd).
[[nodiscard]] io::JsonValue memory_part(const planner::Plan& plan, const models::Profile& profile,
                                        double known);
/// The machine's node with its links, and which groups its cores are in.
[[nodiscard]] io::JsonValue machine_part(const models::Job& settled, const models::Strategy& s);
/// `operators` along the critical path with their categories, and `timeline`, of at most kSlicesInReport slices; null where
/// the step has too many passes to be drawn. Cost: a simulation.
[[nodiscard]] io::JsonValue timeline_part(const models::Job& settled, const models::Strategy& s,
                                          const models::Profile& profile, const models::StepReport& report);
/// What is told of one plan: `profile`, `memory`, `machine`, `step`, `known`. `distance`: from known runs.
void add_plan_parts(io::JsonValue& page, const models::Job& settled, const planner::Plan& plan,
                    const models::Profile& profile, const io::Catalog& catalog, double distance);
[[nodiscard]] io::JsonValue outlook_part(const planner::Outlook& outlook);
[[nodiscard]] io::JsonValue violations_part(const std::vector<planner::Violation>& broken);

/// The job as a word of a command line; one that stands in memory as the file that it is to be saved as.
[[nodiscard]] std::string word_for(const JobInput& job);
/// What to type next; where the job stands in memory, that it is to be saved before.
void add_commands(io::JsonValue& page, const JobInput& job, io::JsonValue commands);
/// What to type, and what it does.
[[nodiscard]] io::JsonValue command_part(const std::string& what, const std::vector<std::string>& words);
/// Why nothing is written that trains a plan: what the target named cannot say of it; "" names that of the job's software.
/// Absent where its folder can be written.
[[nodiscard]] std::optional<std::string> why_unwritten(const models::Job& settled, const planner::Plan& plan,
                                                       const std::string& target);
/// "trnplan simulate JOB --strategy S" with those of the job's options that simulate takes too, as the plan settles them.
[[nodiscard]] std::vector<std::string> words_for_simulate(const std::string& job,
                                                          const io::JobOptions& options,
                                                          const models::Job& of, const planner::Plan& plan);

}  // namespace trnplan::api
