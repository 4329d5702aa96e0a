#include "api/simulate_report.h"

#include <fmt/format.h>

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

/// Sentence on the step in a scenario. The page shows that of the ideal machine, and says so where not.
std::string scenario_words(const ScenarioStep& s, Seconds ideal) {
  return fmt::format(
      "with --scenario {}: {:.4g} s a step, {:.3f} times as long as on the ideal machine, of which this page "
      "is "
      "unless a part says otherwise",
      s.scenario, s.report.step.value, s.report.step / ideal);
}

JsonValue commands_part(const SimulateRequest& o, const SimulateResult& r) {
  JsonValue all = JsonValue::List();
  const auto words = [&](std::vector<std::string> list, const std::vector<std::string>& more) {
    const SimulateRequest usual;
    if (o.profile != usual.profile) list.insert(list.end(), {"--profile", o.profile});
    list.insert(list.end(), more.begin(), more.end());
    return list;
  };
  std::vector<std::string> plan = {"trnplan", "plan", word_for(o.job)};
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
  const std::vector<std::string> network = network_words(o, r.job);
  plan.insert(plan.end(), network.begin(), network.end());
  all.add(command_part("find the best strategy of this job", words(plan, {})));
  if (!r.judgement.plan) return all;
  const std::vector<std::string> simulate = words_for_simulate(word_for(o.job), o, r.job, *r.judgement.plan);
  const auto again = [&](std::vector<std::string> more) {
    if (!o.scenario.empty()) more.insert(more.begin(), {"--scenario", o.scenario});
    return words(simulate, more);
  };
  all.add(command_part("show every operator of the step on a timeline, in ui.perfetto.dev",
                       again({"--trace", "step.pftrace"})));
  all.add(command_part("print the same numbers for a script", again({"--format", "json"})));
  return all;
}

}  // namespace

JsonValue simulate_report(const SimulateRequest& o, const SimulateResult& r,
                          const std::vector<Remark>& remarks) {
  std::vector<Remark> said = remarks;
  if (r.scenario) said.emplace_back(scenario_words(*r.scenario, r.judgement.plan->report.step));
  JsonValue page = report_of("simulate", said);
  page.add("job", job_part(r.job));
  page.add("strategy", strategy_part(r.strategy));
  page.add("broken", violations_part(r.judgement.broken));
  page.add("refused", r.judgement.refused());
  add_commands(page, o.job, commands_part(o, r));
  if (!r.judgement.plan) {
    page.add("machine", machine_part(r.job, r.strategy));
    return page;
  }
  const planner::Plan& plan = *r.judgement.plan;
  JsonValue one = plan_part(r.job, plan);
  one.add("outlook", outlook_part(r.outlook));
  one.add("elasticities", elasticities_part(plan.report));
  page.add("plan", std::move(one));
  add_plan_parts(page, r.job, plan, r.profile, io::Catalog::standard(), r.outlook.distance.value,
                 r.scenario ? &*r.scenario : nullptr);
  return page;
}

void write_simulate_report(const ReportFile& file, const SimulateRequest& request,
                           const SimulateResult& result, const std::vector<Remark>& remarks) {
  write_report(file, simulate_report(request, result, remarks));
}

}  // namespace trnplan::api
