#include "io/output/plan_json.h"

#include <nlohmann/json.hpp>
#include <numeric>

#include "io/format/stored_strategy.h"
#include "planner/plan/space.h"

namespace trnplan::io {

using Json = nlohmann::ordered_json;
using planner::Plan;

namespace {

Json strategy_object(const models::Strategy& s, int micro_batches, int nodes, const std::string& instance) {
  Json j;
  const Json parts = Json::parse(strategy_json(s));  // items() only refers to it
  for (const auto& [key, value] : parts.items()) {
    j[key] = value;
    if (key == "micro_batch") j["micro_batches"] = micro_batches;
  }
  j["nodes"] = nodes;
  j["instance"] = instance;
  return j;
}

std::int64_t whole_bytes(Bytes b) {
  return static_cast<std::int64_t>(b.value + 0.5);
}

/// Components are rounded to bytes; the peak is their sum, so that the parts add up exactly.
Json memory_object(const models::StageMemory& m, Bytes limit) {
  const std::int64_t parts[] = {whole_bytes(m.parameters), whole_bytes(m.gradients),
                                whole_bytes(m.optimizer),  whole_bytes(m.activations),
                                whole_bytes(m.logits),     whole_bytes(m.staging),
                                whole_bytes(m.runtime)};
  std::int64_t peak = 0;
  for (const std::int64_t p : parts) peak += p;
  return {{"peak", peak},
          {"limit", whole_bytes(limit)},
          {"parameters", parts[0]},
          {"gradients", parts[1]},
          {"optimizer", parts[2]},
          {"activations", parts[3]},
          {"logits", parts[4]},
          {"staging", parts[5]},
          {"runtime", parts[6]},
          {"stage", m.stage},
          {"instant", to_string(m.instant)}};
}

/// The worst stage, and the chance that it fits.
Json worst_object(const models::Memory& memory) {
  Json worst = memory_object(memory.worst(), memory.limit);
  worst["fit_probability"] = memory.fit_probability;
  return worst;
}

Json moments_array(const models::StageMemory& m) {
  Json all = Json::array();
  for (const models::MemoryMoment& moment : m.moments) {
    all.push_back({{"instant", to_string(moment.instant)},
                   {"activations", whole_bytes(moment.activations)},
                   {"logits", whole_bytes(moment.logits)},
                   {"staging", whole_bytes(moment.staging)}});
  }
  return all;
}

Json stages_array(const models::Memory& memory) {
  Json all = Json::array();
  for (const models::StageMemory& m : memory.stages) {
    Json stage = memory_object(m, memory.limit);
    stage["layers"] = m.layers;
    stage["in_flight"] = m.in_flight;
    stage["moments"] = moments_array(m);
    all.push_back(std::move(stage));
  }
  return all;
}

Json violations_array(const std::vector<planner::Violation>& broken) {
  Json all = Json::array();
  for (const planner::Violation& v : broken) {
    all.push_back({{"rule", v.rule}, {"message", v.message}, {"fix", v.fix}, {"doubtful", v.doubtful}});
  }
  return all;
}

Json plan_object(const Plan& p) {
  Json breakdown = Json::object(), parameters = Json::object();
  for (std::size_t i = 0; i < p.report.breakdown.size(); ++i) {
    breakdown[std::string(to_string(static_cast<models::Category>(i)))] = p.report.breakdown[i].value;
  }
  for (const models::Parameter parameter : p.report.schema->parameters()) {
    const Seconds seconds = p.report.by_parameter[parameter.place()];
    if (seconds.value == 0) continue;
    parameters[std::string(to_string(parameter))] = seconds.value;
  }
  Json operators = Json::object(), elasticities = Json::object();
  for (const auto& [name, seconds] : p.report.by_operator) operators[name] = seconds.value;
  for (std::size_t i = 0; i < static_cast<std::size_t>(models::Resource::count); ++i) {
    const auto resource = static_cast<models::Resource>(i);
    elasticities[std::string(to_string(resource))] = p.report.elasticity(resource);
  }
  Json plan = {{"strategy", strategy_object(p.strategy, p.micro_batches, p.nodes, p.instance)},
               {"global_batch", p.global_batch},
               {"step_seconds", p.report.step.value},
               {"step_seconds_90", {p.report.low.value, p.report.high.value}},
               {"tokens_per_second", p.report.tokens_per_second},
               {"mfu", p.report.mfu},
               {"hfu", p.report.hfu},
               {"model_tflops", p.report.model_flops.value / 1e12},
               {"six_n_tflops", p.report.six_n_flops.value / 1e12},
               {"memory_bytes_per_core", worst_object(p.memory)},
               {"memory_by_stage", stages_array(p.memory)},
               {"breakdown_seconds", std::move(breakdown)},
               {"seconds_by_parameter", std::move(parameters)},
               {"seconds_by_operator", std::move(operators)},
               {"elasticities", std::move(elasticities)},
               {"usd_per_hour", p.usd_per_hour},
               {"doubts", violations_array(p.doubts)}};
  if (p.schedule == models::Schedule::zero_bubble) plan["schedule"] = "zero-bubble";
  if (p.report.extrapolated) plan["step_extrapolated"] = true;
  if (p.run.value > 0) {
    plan["run_days"] = p.run.value / 86400;
    plan["run_usd"] = p.usd_per_hour * p.run.value / 3600;
  }
  return plan;
}

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

std::string dump(const Json& j) {
  return j.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

Json document() {
  return {{"schema_version", kSchemaVersion}};
}

}  // namespace

namespace {

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
  Json object = {{"first", 1},
                 {"second", 2},
                 {"probability_first_is_better", c.probability},
                 {"sure", sure},
                 {"told_apart", c.told_apart},
                 {"equal", c.equal},
                 {"measurement", c.best ? measurement_object(*c.best) : Json(nullptr)},
                 {"measurement_decides", c.decides},
                 {"considered", Json::array()}};
  for (const planner::Experiment& m : c.considered) object["considered"].push_back(measurement_object(m));
  return object;
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
                        const std::string& run) {
  Json j = document();
  const planner::SpaceCounts& c = result.counts;
  j["space"] = {{"enumerated", c.enumerated}, {"refused", c.refused},     {"too_large", c.too_large},
                {"bounded", c.bounded},       {"simulated", c.simulated}, {"seconds", wall_seconds}};
  j["proven"] = result.complete;
  j["gap"] = result.complete || result.gap > 0 ? Json(result.gap) : Json(nullptr);
  if (!result.cut_short.empty()) j["cut_short"] = result.cut_short;
  j["plans"] = Json::array();
  int rank = 1;
  for (const Plan& p : result.plans) {
    Json plan = {{"rank", rank}};
    plan.update(plan_object(p));
    if (confidence != nullptr && rank > 1) {
      const auto& better = confidence->first_is_better[static_cast<std::size_t>(rank - 2)];
      plan["probability_first_is_better"] = better ? Json(*better) : Json(nullptr);
    }
    j["plans"].push_back(std::move(plan));
    ++rank;
  }
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
  if (!run.empty()) j["run"] = Json::parse(run);
  j["doubtful"] = refusals_array(result.doubtful, home);
  j["refused"] = refusals_array(result.refused, home);
  if (result.infeasible) j["infeasible"] = infeasible_object(*result.infeasible, home);
  return dump(j);
}

std::string plan_json(const Plan& plan, const std::vector<planner::Violation>& broken) {
  Json j = document();
  j.update(plan_object(plan));
  if (!broken.empty()) j["violations"] = violations_array(broken);
  return dump(j);
}

std::string refusal_json(const std::vector<planner::Violation>& broken) {
  Json j = document();
  j["violations"] = violations_array(broken);
  return dump(j);
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
                            {"plan", plan_object(n.config.plan)}});
  }
  return dump(j);
}

namespace {

Json nics_array(const topology::Instance& instance) {
  Json nics = Json::array();
  for (int n = 0; n < instance.nics; ++n) {
    Json chips = Json::array();
    for (int c = 0; c < instance.chips; ++c) {
      if (instance.nic_of_chip[static_cast<std::size_t>(c)] == n) chips.push_back(c);
    }
    const std::size_t cores = chips.size() * static_cast<std::size_t>(instance.cores_per_chip);
    nics.push_back({{"nic", n},
                    {"chips", std::move(chips)},
                    {"cores", cores},
                    {"bytes_per_second_per_direction", instance.nic.value}});
  }
  return nics;
}

Json torus_object(const topology::Instance& instance) {
  if (instance.torus_rows < 1) return nullptr;
  return {
      {"rows", instance.torus_rows}, {"columns", instance.torus_columns}, {"depth", instance.torus_depth}};
}

Json kinds_array(const topology::ChipGraph& graph, const topology::PlacementVerdict& verdict) {
  Json kinds = Json::array();
  for (const topology::KindVerdict& k : topology::by_kind(graph, verdict)) {
    kinds.push_back({{"kind", to_string(k.kind)},
                     {"groups", k.groups},
                     {"ranks", k.ranks},
                     {"verdict", to_string(k.worst.verdict)},
                     {"rule", k.worst.rule},
                     {"rings", k.rings}});
  }
  return kinds;
}

}  // namespace

std::string topology_json(const topology::Cluster& cluster, const topology::ChipGraph& graph,
                          const topology::PlacementVerdict& verdict) {
  Json j = document();
  j["instance"] = cluster.instance.name;
  j["nodes"] = cluster.nodes;
  j["groups"] = Json::array();
  for (const topology::GroupVerdict& g : verdict.groups) {
    j["groups"].push_back({{"kind", to_string(g.kind)},
                           {"ranks", g.ranks},
                           {"chips", g.chips},
                           {"nodes", g.nodes},
                           {"verdict", to_string(g.verdict)},
                           {"rule", g.rule},
                           {"message", g.message},
                           {"evidence", g.source}});
  }
  j["verdict"] = to_string(verdict.overall);
  const topology::Instance& instance = cluster.instance;
  Json links = Json::array(), rates = Json::array();
  for (const topology::Link& l : instance.links) {
    links.push_back({l.chip_a, l.chip_b});
    rates.push_back(instance.rate_of(l).value);
  }
  j["links"] = std::move(links);
  j["link_bytes_per_second_per_direction"] = std::move(rates);
  j["chips"] = instance.chips;
  j["switches"] = instance.switches;
  j["cores_per_chip"] = instance.cores_per_chip;
  j["torus"] = torus_object(instance);
  j["nics"] = nics_array(instance);
  std::vector<int> all(static_cast<std::size_t>(instance.chips));
  std::iota(all.begin(), all.end(), 0);
  j["rings"] = graph.disjoint_rings(all);
  j["kinds"] = kinds_array(graph, verdict);
  return dump(j);
}

}  // namespace trnplan::io
