#include "api/simulate_report.h"

#include "api/observations.h"
#include "api/risk.h"

namespace trnplan::api {

using io::JsonValue;

namespace {

JsonValue elasticities_part(const models::StepReport& report) {
  JsonValue all = JsonValue::object();
  for (std::size_t i = 0; i < static_cast<std::size_t>(models::Resource::count); ++i) {
    const auto resource = static_cast<models::Resource>(i);
    all.add(std::string(to_string(resource)), report.elasticity(resource));
  }
  return all;
}

JsonValue commands_part(const SimulateRequest& o, const SimulateResult& r) {
  JsonValue all = JsonValue::List();
  const auto words = [&](std::vector<std::string> list, const std::vector<std::string>& more) {
    const SimulateRequest usual;
    if (o.profile != usual.profile) list.insert(list.end(), {"--profile", o.profile});
    list.insert(list.end(), more.begin(), more.end());
    return list;
  };
  std::vector<std::string> plan = {"trnplan", "plan", o.job.job};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) plan.insert(plan.end(), {name, value});
  };
  const io::JobOptions& options = o.job.options;
  add("--nodes", options.nodes);
  add("--instance", options.instance);
  add("--sequence", options.sequence);
  add("--global-batch", options.global_batch);
  add("--precision", options.precision);
  add("--release", options.release);
  all.add(command_part("find the best strategy of this job", words(plan, {})));
  if (!r.judgement.plan) return all;
  const std::vector<std::string> simulate = words_for_simulate(o.job.job, options, r.job, *r.judgement.plan);
  all.add(command_part("every operator of the step on a timeline, for ui.perfetto.dev",
                       words(simulate, {"--trace", "step.pftrace"})));
  all.add(command_part("the same numbers for a script", words(simulate, {"--format", "json"})));
  return all;
}

}  // namespace

void write_simulate_report(const ReportFile& file, const SimulateRequest& o, const SimulateResult& r,
                           const std::vector<Remark>& remarks) {
  const topology::Instance& instance = r.job.cluster.instance;
  JsonValue page = report_of("simulate", remarks, &instance);
  page.add("job", job_part(r.job));
  page.add("strategy", strategy_part(r.strategy));
  page.add("broken", violations_part(r.judgement.broken, instance));
  page.add("refused", r.judgement.refused());
  page.add("commands", commands_part(o, r));
  if (!r.judgement.plan) {
    page.add("machine", machine_part(r.job, r.strategy));
    return write_report(file, page);
  }
  const planner::Plan& plan = *r.judgement.plan;
  const io::Catalog catalog = io::Catalog::standard();
  Remarks heard;  // said already
  const models::Profile profile = profile_for(catalog, load_profile(catalog, o.profile), instance, heard);
  const KnownRisk risk(catalog, load_observations(o.profile), r.job.architecture);
  const planner::Outlook outlook = risk.advisor(r.job, profile).outlook(plan, plan);
  JsonValue one = plan_part(r.job, plan);
  one.add("outlook", outlook_part(outlook));
  one.add("elasticities", elasticities_part(plan.report));
  page.add("plan", std::move(one));
  add_plan_parts(page, r.job, plan, profile, catalog, outlook.distance.value);
  write_report(file, page);
}

}  // namespace trnplan::api
