// Parts of pages shared by several commands, as the JSON that launch/report/page/ draws (docs/report.md lists
// the keys).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/inputs.h"
#include "api/resolve.h"
#include "io/output/json_value.h"
#include "models/job/job.h"
#include "models/parameters/profile.h"
#include "planner/confidence/recommendation.h"
#include "planner/plan/plan.h"
#include "text/remarks.h"

namespace trnplan::api {

struct ScenarioStep;

/// Destination of a report.
struct ReportFile {
  std::string path;    ///< empty = no report
  bool force = false;  ///< replaces an existing file
};

/// Throws InputError if the report cannot be written: its name does not end in .html, its folder is missing, the
/// file exists, or it is one of `others`, which the command also reads or writes. For use before the work.
void check_report(const ReportFile& file, const std::vector<std::string>& others = {});
/// Writes the page of `data` atomically. Throws InputError.
void write_report(const ReportFile& file, const io::JsonValue& data);

/// Most entries of each kind on a page; the page states how many are left out.
inline constexpr std::size_t kPlansInReport = 60, kRefusedInReport = 60, kSlicesInReport = 20'000,
                             kRowsInReport = 4000;

/// Start of a page: its kind, and the remarks.
[[nodiscard]] io::JsonValue report_of(const char* kind, const std::vector<Remark>& remarks);

[[nodiscard]] io::JsonValue job_part(const models::Job& job);
[[nodiscard]] io::JsonValue strategy_part(const models::Strategy& s);
/// Step, throughput, breakdown, memory at the worst stage, price.
[[nodiscard]] io::JsonValue plan_part(const models::Job& job, const planner::Plan& plan);
/// `known`: log-sd of the memory's factors other than those of the profile, from the distance to known runs.
[[nodiscard]] io::JsonValue memory_part(const planner::Plan& plan, const models::Profile& profile,
                                        double known);
/// The machine's node with its links, and the groups of its cores.
[[nodiscard]] io::JsonValue machine_part(const models::Job& planned, const models::Strategy& s);
/// `operators` along the critical path with their categories, and `timeline`, with at most kSlicesInReport
/// slices; null if the step has too many passes to draw. The timeline is that of `scenario`, if not null.
/// Cost: a simulation.
[[nodiscard]] io::JsonValue timeline_part(const models::Job& planned, const models::Strategy& s,
                                          const models::Profile& profile, const models::StepReport& report,
                                          const ScenarioStep* scenario);
/// Adds the parts on one plan: `profile`, `memory`, `machine`, `step`, `known`. `distance`: from known runs.
void add_plan_parts(io::JsonValue& page, const models::Job& planned, const planner::Plan& plan,
                    const models::Profile& profile, const io::Catalog& catalog, double distance,
                    const ScenarioStep* scenario = nullptr);
[[nodiscard]] io::JsonValue outlook_part(const planner::Outlook& outlook);
[[nodiscard]] io::JsonValue violations_part(const std::vector<planner::Violation>& broken);

/// The job as a word of a command line. A job in memory is named as the file to save it to.
[[nodiscard]] std::string word_for(const JobInput& job);
/// Adds the next commands; for a job in memory, with a note to save it first.
void add_commands(io::JsonValue& page, const JobInput& job, io::JsonValue commands);
/// A command, and its purpose.
[[nodiscard]] io::JsonValue command_part(const std::string& what, const std::vector<std::string>& words);
/// why_no_folder() of the named target, where the hardware exists; "" = that of the job's software.
[[nodiscard]] std::optional<std::string> why_unwritten(const models::Job& planned, const planner::Plan& plan,
                                                       const std::string& target);
/// Words of the options that decide the network of `job` on a type of machine, for every command that predicts as the
/// request does: the measured all-reduce with the nodes that it was measured on, unless that was another machine, and
/// --set. `instance`: "" = the job's.
[[nodiscard]] std::vector<std::string> network_words(const Asked& request, const models::Job& job,
                                                     std::string_view instance = "");
/// Words of a job's options, each an option and its value, but those of network_words().
[[nodiscard]] std::vector<std::string> words_without_network(const std::vector<std::string>& job_options);
/// "trnplan simulate JOB --strategy S" with network_words() and those of the job's options that simulate also takes,
/// with the plan's values.
[[nodiscard]] std::vector<std::string> words_for_simulate(const std::string& job, const Asked& request,
                                                          const models::Job& of, const planner::Plan& plan);

}  // namespace trnplan::api
