#include "api/scenario_step.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "io/input/scenario_text.h"
#include "models/step/step.h"
#include "text/diagnostic.h"
#include "topology/chip_graph.h"
#include "topology/nics.h"

namespace trnplan::api {

namespace {

const SourcePos kPlace{"--scenario", 0, 0};

}  // namespace

ScenarioStep scenario_step(const std::string& text, const models::Scenario& scenario, const models::Job& job,
                           const models::Strategy& strategy, const models::Profile& profile) {
  const topology::ChipGraph graph(job.cluster.instance);
  const models::StepModel model(job, strategy, profile, graph);
  try {
    if (scenario.is_random()) {
      const models::StepRuns runs = model.simulate_runs(scenario);
      return {text, scenario, runs.median, model.core_work(scenario), runs.runs};
    }
    return {text, scenario, model.simulate({.scenario = scenario}), model.core_work(scenario), std::nullopt};
  } catch (const std::overflow_error& e) {  // beyond the clock, or too many tasks
    throw InputError({kPlace, "", std::string("the step cannot be simulated: ") + e.what(),
                      "state smaller factors, fewer parts, or no jitter"});
  }
}

void check_scenario(const std::string& text, const planner::WhatIfQuestion& q, const Files& files) {
  for (const topology::Instance& type : q.instances) {
    const int nodes = q.solves_for_nodes() ? q.most_nodes : q.nodes.front();
    const models::Scenario s = io::read_scenario(text, {type, nodes}, kPlace, files);
    const bool late =
        std::any_of(s.nodes.begin(), s.nodes.end(), [](const auto& n) { return n.state.late.value > 0; });
    if (late)
      throw InputError({kPlace, "late-node",
                        "a node comes late once, and a whole run would pay it in each step",
                        "leave it out: simulate --scenario times the step that it delays"});
    if (q.solves_for_nodes() && (!s.slow.empty() || !s.nodes.empty()))
      throw InputError({kPlace, "", "numbers of nodes and cores mean nothing where the nodes are solved for",
                        "state --nodes, or only what needs no number: spine, jitter"});
  }
}

models::Scenario scenario_on(const std::string& text, const topology::Cluster& cluster, const Files& files) {
  return text.empty() ? models::Scenario{} : io::read_scenario(text, cluster, kPlace, files);
}

bool plans_for_spine(const models::Job& job) {
  return !job.all_reduce || job.all_reduce->instance != job.cluster.instance.name;
}

models::Job with_spine(models::Job job, models::Scenario& scenario) {
  if (!plans_for_spine(job)) return job;
  job.cluster.oversubscription =
      topology::oversubscription_of(job.cluster) / std::exchange(scenario.spine, 1);
  return job;
}

void slow_down(planner::Plan& plan, const std::string& text, const models::Scenario& scenario,
               const models::Job& job, const models::Profile& profile) {
  models::StepReport slow = scenario_step(text, scenario, job, plan.strategy, profile).report;
  const double times = slow.step / plan.report.step;
  slow.low = plan.report.low * times;
  slow.high = plan.report.high * times;
  slow.slow = plan.report.slow;
  if (slow.slow) slow.slow->step = plan.report.slow->step * times;
  plan.run = plan.run * times;
  plan.report = std::move(slow);
}

}  // namespace trnplan::api
