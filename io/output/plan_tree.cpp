#include <cmath>
#include <string>

#include "io/format/json_tree.h"
#include "io/output/json_tree.h"
#include "models/framework/framework.h"

namespace trnplan::io {

using planner::Plan;

namespace {

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

Json experience_object(const planner::Experience& e) {
  return {
      {"id", e.id},
      {"source", e.source},
      {"job", e.words},
      {"known", e.known},
      {"distance", e.distance},
      {"differences", e.differences},
      {"largest_known_graph", {{"id", e.largest_graph_id}, {"instructions", std::llround(e.largest_graph)}}}};
}

}  // namespace

Json document() {
  return {{"schema_version", kSchemaVersion}};
}

Json strategy_object(const models::Strategy& s, int micro_batches, int nodes, const std::string& instance) {
  Json j;
  const Json parts = strategy_tree(s);  // items() only refers to it
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

Json worst_object(const models::Memory& memory) {
  Json worst = memory_object(memory.worst(), memory.limit);
  worst["fit_probability"] = memory.fit_probability;
  return worst;
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
               {"compile_probability", p.graph.compile_probability()},
               {"instructions_per_graph", std::llround(p.graph.expected)},
               {"breakdown_seconds", std::move(breakdown)},
               {"seconds_by_parameter", std::move(parameters)},
               {"seconds_by_operator", std::move(operators)},
               {"elasticities", std::move(elasticities)},
               {"usd_per_hour", p.usd_per_hour > 0 ? Json(p.usd_per_hour) : Json(nullptr)},
               {"doubts", violations_array(p.doubts)}};
  const models::Schedule schedule = models::settled_schedule(p.strategy);
  if (!models::framework_of(p.strategy).runs(schedule)) plan["schedule"] = models::to_string(schedule);
  if (p.report.extrapolated) plan["step_extrapolated"] = true;
  if (p.known) plan["nearest_memory_case"] = experience_object(*p.known);
  if (p.works) {
    plan["fit_probability_at_distance"] = or_null(p.fits);
    plan["compile_probability_at_distance"] = or_null(p.compiles);
    plan["works_probability"] = *p.works;
  }
  if (p.run.value > 0) {
    plan["run_days"] = in_days(p.run);
    plan["run_usd"] = p.usd_per_hour * p.run.value / 3600;
  }
  return plan;
}

}  // namespace trnplan::io
