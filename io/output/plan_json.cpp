#include "io/output/plan_json.h"

#include "io/output/json_tree.h"
#include "planner/plan/space.h"

namespace trnplan::io {

using planner::Plan;

namespace {

/// `job` on the cluster that was refused on.
Json refusal_object(const planner::Refusal& r, models::Job job) {
  job.training.global_batch = planner::batch_of(job, r.strategy);
  Json object = {{"strategy", strategy_object(r.strategy, models::micro_batches(job.training, r.strategy),
                                              job.cluster.nodes, job.cluster.instance.name)},
                 {"rule", r.why.rule},
                 {"message", r.why.message},
                 {"fix", r.why.fix},
                 {"step_seconds_bound", r.lower_bound.value}};
  if (r.memory) object["memory_bytes_per_core"] = worst_object(*r.memory);
  if (!r.chips.empty()) object["chips"] = r.chips;
  return object;
}

Json refusals_array(const std::vector<planner::Refusal>& list, const models::Job& job) {
  Json all = Json::array();
  for (const planner::Refusal& r : list) all.push_back(refusal_object(r, job));
  return all;
}

/// The job on the winner's cluster; without a winner on the first that was looked at.
models::Job home_of(models::Job job, const std::vector<Plan>& plans) {
  const models::SearchSpace& free = job.space;
  const int nodes = !plans.empty()       ? plans.front().nodes
                    : free.nodes.empty() ? job.cluster.nodes
                                         : free.nodes[0];
  for (const topology::Instance& i : free.instances) {
    if (!plans.empty() && i.name == plans.front().instance) job.cluster.instance = i;
  }
  job.cluster.nodes = nodes;
  if (free.batch_per_node > 0) job.training.global_batch = free.batch_per_node * nodes;
  return job;
}

Json sensitivity_object(const planner::Sensitivity& r) {
  Json object = {{"binds", to_string(r.resource)},
                 {"elasticity", r.elasticity},
                 {"step_seconds_with_faster_kernels", r.with_faster_kernels.value},
                 {"step_seconds_with_twice_the_nics", nullptr},
                 {"with_one_more_gibibyte", nullptr}};
  if (r.with_twice_the_nics.value > 0)
    object["step_seconds_with_twice_the_nics"] = r.with_twice_the_nics.value;
  if (r.with_more_memory) object["with_one_more_gibibyte"] = plan_object(*r.with_more_memory);
  return object;
}

Json clusters_array(const std::vector<planner::ClusterPlan>& clusters) {
  Json all = Json::array();
  for (const planner::ClusterPlan& c : clusters) {
    Json plan = {{"on_front", c.on_front}};
    plan.update(plan_object(c.plan));
    all.push_back(std::move(plan));
  }
  return all;
}

Json baseline_object(const targets::Baseline& b, const std::vector<Plan>& plans) {
  Json object = {{"strategy", strategy_object(b.strategy, models::micro_batches(b.job.training, b.strategy),
                                              b.job.cluster.nodes, b.job.cluster.instance.name)},
                 {"violations", violations_array(b.broken)},
                 {"runs", b.runs()},
                 {"prediction", b.plan ? plan_object(*b.plan) : Json(nullptr)},
                 {"speedup", nullptr},
                 {"seconds_saved", nullptr}};
  if (b.plan && b.runs() && !plans.empty()) {
    const Plan& winner = plans.front();
    const double scale = static_cast<double>(winner.global_batch) / b.plan->global_batch;
    Json saved = Json::object();
    for (std::size_t i = 0; i < winner.report.breakdown.size(); ++i)
      saved[std::string(to_string(static_cast<models::Category>(i)))] =
          b.plan->report.breakdown[i].value * scale - winner.report.breakdown[i].value;
    object["speedup"] = targets::speedup(winner, b);
    object["seconds_saved"] = std::move(saved);
  }
  object["changes"] = Json::array();
  for (const targets::Change& c : b.changes) {
    object["changes"].push_back(
        {{"key", c.key}, {"from", c.from}, {"to", c.to}, {"line", c.at.line}, {"column", c.at.column}});
  }
  object["remarks"] = b.remarks;
  return object;
}

Json table_object(const planner::TableRequest& t) {
  std::string command;
  for (const std::string& word : planner::nccom_command(t)) command += (command.empty() ? "" : " ") + word;
  return {{"operation", to_string(t.op)},
          {"ranks", t.ranks},
          {"nodes", t.nodes},
          {"smallest_bytes", whole_bytes(Bytes(t.smallest))},
          {"largest_bytes", whole_bytes(Bytes(t.largest))},
          {"command", command}};
}

/// When the second plan is the better guess.
Json rule_object(const planner::Experiment& m) {
  const bool first = m.runs_of_first > 0, both = first && m.runs_of_second > 0;
  return {{"measured", both    ? "second_over_first"
                       : first ? "first_step_seconds"
                               : "second_step_seconds"},
          {"is", m.above ? "above" : "below"},
          {"value", m.threshold}};
}

Json measurement_object(const planner::Experiment& m) {
  Json object = {{"kind", m.tables.empty() ? "run" : "nccom-test"},
                 {"probability_after", m.probability},
                 {"expected_gain", m.gain},
                 {"expected_gain_usd", m.gain_usd > 0 ? Json(m.gain_usd) : Json(nullptr)},
                 {"expected_gain_node_hours", m.gain_node_hours},
                 {"node_hours", m.node_hours},
                 {"usd", m.usd > 0 ? Json(m.usd) : Json(nullptr)}};
  if (!m.tables.empty()) {
    object["tables"] = Json::array();
    for (const planner::TableRequest& t : m.tables) object["tables"].push_back(table_object(t));
    return object;
  }
  object["runs_of_first"] = m.runs_of_first;
  object["runs_of_second"] = m.runs_of_second;
  object["steps_of_a_run"] = planner::kShortRunSteps;
  object["second_is_better_when"] = rule_object(m);
  return object;
}

Json comparison_object(const planner::Comparison& c, double sure) {
  Json object = {{"first", c.first + 1},
                 {"second", c.second + 1},
                 {"probability_first_is_better", c.probability},
                 {"sure", sure},
                 {"told_apart", c.told_apart},
                 {"equal", c.equal},
                 {"measurement", c.best ? measurement_object(*c.best) : Json(nullptr)},
                 {"measurement_decides", c.decides},
                 {"measurement_pays", c.pays},
                 {"considered", Json::array()}};
  for (const planner::Experiment& m : c.considered) object["considered"].push_back(measurement_object(m));
  return object;
}

/// What is added to a ranked plan.
Json outlook_object(const planner::Outlook& o) {
  return {{"distance", o.distance.value},
          {"nearest_run", o.nearest.empty() ? Json(nullptr) : Json(o.nearest)},
          {"untested", o.distance.untested},
          {"differs_from_nearest", o.distance.differs},
          {"fit_probability_at_distance", o.fits},
          {"compile_probability_at_distance", o.compiles},
          {"run_probability", o.runs},
          {"works_probability", o.works()},
          {"expected_tokens_per_second", o.expected_tokens_per_second}};
}

/// The rank of the first plan of the list that a plan is a near twin of; 0 without one.
int twin_rank(const std::vector<Plan>& plans, std::size_t i) {
  for (std::size_t k = 0; k < i; ++k) {
    if (planner::near_twins(plans[k], plans[i])) return static_cast<int>(k) + 1;
  }
  return 0;
}

Json infeasible_object(const planner::Infeasible& why, const models::Job& job) {
  Json object = {{"nodes_that_would_do", why.nodes_that_would_do},
                 {"nearest_global_batch", why.nearest_batch}};
  object["rules"] = Json::array();
  for (const planner::RuleCount& r : why.rules) {
    object["rules"].push_back(
        {{"rule", r.why.rule}, {"strategies", r.strategies}, {"message", r.why.message}, {"fix", r.why.fix}});
  }
  if (why.closest) {
    object["closest"] = strategy_object(*why.closest, models::micro_batches(job.training, *why.closest),
                                        job.cluster.nodes, job.cluster.instance.name);
    object["memory_bytes_per_core"] = worst_object(*why.memory);
  }
  if (why.too_slow) object["fastest"] = plan_object(*why.too_slow);
  if (why.too_expensive) object["cheapest"] = plan_object(*why.too_expensive);
  return object;
}

}  // namespace

std::string search_json(const planner::SearchResult& result, const models::Job& job, double wall_seconds,
                        const targets::Baseline* baseline, const planner::Confidence* confidence,
                        const planner::ForecastRun* run, const std::vector<planner::Outlook>& outlooks) {
  Json j = document();
  const planner::SpaceCounts& c = result.counts;
  j["space"] = {{"enumerated", c.enumerated}, {"refused", c.refused},     {"too_large", c.too_large},
                {"bounded", c.bounded},       {"simulated", c.simulated}, {"inexpressible", c.inexpressible},
                {"seconds", wall_seconds}};
  j["proven"] = result.complete;
  j["gap"] = result.complete || result.gap > 0 ? Json(result.gap) : Json(nullptr);
  if (!result.cut_short.empty()) j["cut_short"] = result.cut_short;
  j["plans"] = Json::array();
  int rank = 1;
  for (const Plan& p : result.plans) {
    Json plan = {{"rank", rank}};
    plan.update(plan_object(p));
    const std::size_t index = static_cast<std::size_t>(rank - 1);
    if (index < outlooks.size()) plan.update(outlook_object(outlooks[index]));
    if (const int twin = twin_rank(result.plans, index); twin > 0) plan["near_twin_of"] = twin;
    if (confidence != nullptr && rank > 1) {
      const auto& better = confidence->first_is_better[static_cast<std::size_t>(rank - 2)];
      plan["probability_first_is_better"] = better ? Json(*better) : Json(nullptr);
    }
    j["plans"].push_back(std::move(plan));
    ++rank;
  }
  j["recommended"] = result.plans.empty() ? Json(nullptr) : Json(result.recommended);
  const models::Job home = home_of(job, result.plans);
  j["layouts"] = Json::array();
  for (const Plan& p : result.layouts) j["layouts"].push_back(plan_object(p));
  if (result.sensitivity) j["reasons"] = sensitivity_object(*result.sensitivity);
  j["clusters"] = clusters_array(result.clusters);
  if (confidence != nullptr && confidence->comparison)
    j["comparison"] = comparison_object(*confidence->comparison, confidence->sure);
  if (baseline != nullptr) {
    j["baseline"] = baseline_object(*baseline, result.plans);
    const bool known = confidence != nullptr && confidence->beats_baseline;
    j["baseline"]["probability_winner_is_faster"] = known ? Json(*confidence->beats_baseline) : Json(nullptr);
  }
  if (run != nullptr) j["run"] = run_object(run->answer, run->question);
  j["doubtful"] = refusals_array(result.doubtful, home);
  j["refused"] = refusals_array(result.refused, home);
  if (result.infeasible) j["infeasible"] = infeasible_object(*result.infeasible, home);
  return dumped(j);
}

std::string plan_json(const Plan& plan, const std::vector<planner::Violation>& broken) {
  Json j = document();
  j.update(plan_object(plan));
  if (!broken.empty()) j["violations"] = violations_array(broken);
  return dumped(j);
}

std::string refusal_json(const std::vector<planner::Violation>& broken) {
  Json j = document();
  j["violations"] = violations_array(broken);
  return dumped(j);
}

std::string check_json(const std::string& verdict, const std::vector<targets::Finding>& findings,
                       const Plan* prediction, const std::vector<NearestJson>& nearest,
                       const std::string& no_prediction) {
  Json j = document();
  j["verdict"] = verdict;
  j["findings"] = Json::array();
  for (const targets::Finding& f : findings) {
    j["findings"].push_back({{"rule", f.rule},
                             {"severity", to_string(f.severity)},
                             {"key", f.key},
                             {"line", f.at.line},
                             {"column", f.at.column},
                             {"message", f.message},
                             {"fix", f.fix},
                             {"source", f.source}});
  }
  j["prediction"] = prediction == nullptr ? Json(nullptr) : plan_object(*prediction);
  j["no_prediction"] = no_prediction.empty() ? Json(nullptr) : Json(no_prediction);
  j["nearest"] = Json::array();
  for (const NearestJson& n : nearest) {
    Json changes = Json::array();
    for (const targets::Change& c : n.config.changes) {
      changes.push_back({{"key", c.key}, {"line", c.at.line}, {"from", c.from}, {"to", c.to}});
    }
    j["nearest"].push_back({{"keys", n.config.changes.size()},
                            {"changes", changes},
                            {"diff", n.diff},
                            {"warnings", n.config.warnings},
                            {"fit_probability", n.config.fit_probability},
                            {"works_probability", n.config.plan.works ? Json(*n.config.plan.works) : Json()},
                            {"plan", plan_object(n.config.plan)}});
  }
  return dumped(j);
}

}  // namespace trnplan::io
