#include "io/plan_file.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "io/plan_json.h"
#include "io/readers.h"
#include "io/stored_strategy.h"

namespace trnplan::io {

using Json = nlohmann::ordered_json;

namespace {

constexpr int kMost = std::numeric_limits<int>::max();
constexpr double kMostSeconds = 1e9;  ///< far above what the simulation clock holds

/// The number a scalar states; -1 when it is none.
double stated(const Node& node) {
  return number_of(node).value_or(-1);
}

models::Strategy read_strategy(const Node& node, int& nodes, std::string& instance,
                               std::vector<Diagnostic>& faults) {
  MapReader map(node, "strategy", faults);
  models::Strategy s = strategy_from(map);
  nodes = map.required_whole("nodes", 1, topology::kMostNodes);
  instance = map.required_text("instance");
  return s;
}

void read_prediction(const Node& root, MapReader& map, PlanFile& plan) {
  plan.step = Seconds{map.required_number("step_seconds", 0, kMostSeconds)};
  const Node* interval = map.raw("step_seconds_90");
  const bool pair = interval != nullptr && interval->items.size() == 2;
  const auto end = [&](std::size_t i) { return pair ? stated(interval->items[i]) : -1.0; };
  plan.low = Seconds{end(0)};
  plan.high = Seconds{end(1)};
  if (!(plan.step.value > 0) || !(plan.low.value > 0) || !(plan.high.value >= plan.low.value)) {
    map.fault("step_seconds_90", "a prediction needs a step above 0 and its interval",
              "let plan --out write the file anew");
  }
  plan.usd_per_hour = map.number("usd_per_hour", 0, 0, kMostSeconds);
  const Node* peak = root.at_path("memory_bytes_per_core.peak");
  if (peak != nullptr) plan.peak = Bytes{std::max(0.0, stated(*peak))};
}

void read_job_part(const Node& node, PlanFile& plan, std::vector<Diagnostic>& faults) {
  MapReader map(node, "job", faults);
  plan.job.architecture.name = map.text("model", "");
  plan.job.training.sequence = map.required_whole("sequence", 1, kMost);
  plan.job.training.global_batch = map.required_whole("global_batch", 1, kMost);
  plan.job.training.tokens = map.number("tokens", 0, 0, 1e18);
  plan.job.software.framework = map.text("framework", "");
  plan.job.software.release = map.text("release", "");
}

}  // namespace

std::string plan_file_json(const models::Job& job, const planner::Plan& plan, const PlanStory& story) {
  Json file = Json::parse(plan_json(plan));
  file["strategy"]["bucket_mb"] = plan.strategy.bucket_mb;
  file["target"] = story.target;
  file["software"] = story.software;
  file["job"] = {{"model", job.architecture.name},
                 {"sequence", job.training.sequence},
                 {"global_batch", plan.global_batch > 0 ? plan.global_batch : job.training.global_batch},
                 {"tokens", job.training.tokens},
                 {"framework", job.software.framework},
                 {"release", job.software.release}};
  return file.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

PlanFile read_plan_file(const std::filesystem::path& path, const Catalog& catalog, const Files& files) {
  const Node root = parse_document(files.text(path), path.string());
  std::vector<Diagnostic> faults;
  PlanFile plan;
  MapReader map(root, "", faults);
  const Node *strategy = map.raw("strategy"), *job = map.raw("job");
  if (strategy == nullptr || job == nullptr) {
    throw InputError({{path.string(), 0, 0},
                      "",
                      "this is no plan.json of plan --out: it has no strategy or no job",
                      "write the folder with trnplan plan JOB --out DIR"});
  }
  int nodes = 1;
  std::string instance;
  plan.strategy = read_strategy(*strategy, nodes, instance, faults);
  read_prediction(root, map, plan);
  read_job_part(*job, plan, faults);
  plan.target = map.text("target", "nxdt");
  if (!faults.empty()) throw InputError(std::move(faults));
  plan.job.cluster = {catalog.instance(instance), nodes};
  plan.job.training.precision = plan.strategy.precision;
  const std::string name = plan.job.architecture.name;
  plan.job.architecture = read_hf_config(path.parent_path() / "config.json", files).architecture;
  if (!name.empty()) plan.job.architecture.name = name;
  plan.job.architecture.flash_attention = plan.strategy.flash_attention;
  return plan;
}

}  // namespace trnplan::io
