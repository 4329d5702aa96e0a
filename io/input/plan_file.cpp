#include "io/input/plan_file.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "io/catalog/value_reader.h"
#include "io/format/schema_version.h"
#include "io/format/stored_strategy.h"
#include "io/input/job_learning.h"
#include "io/input/readers.h"
#include "io/output/json_tree.h"
#include "planner/cost/prices.h"
#include "targets/registry.h"
#include "text/sha256.h"
#include "text/version.h"
#include "units/product.h"

namespace trnplan::io {

namespace {

constexpr int kMost = std::numeric_limits<int>::max();
constexpr double kMostSeconds = 1e9;  ///< far above what the simulation clock holds

/// The number that a scalar states; -1 if it is not a number.
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
              "write the file again with plan --out");
  }
  plan.usd_per_hour = map.number("usd_per_hour", 0, 0, kMostSeconds);
  const Node* peak = root.at_path("memory_bytes_per_core.peak");
  if (peak != nullptr) plan.peak = Bytes{std::max(0.0, stated(*peak))};
}

/// The all-reduce that was measured for the plan, as the record of plan.json states it.
void read_network(const Node& node, PlanFile& plan, std::vector<Diagnostic>& faults) {
  constexpr double kLeastRate = 1e6, kMostRate = 1e14, kMostBytes = 0x1p50;
  const topology::Instance& on = plan.job.cluster.instance;
  MapReader map(node, "network", faults);
  models::MeasuredAllReduce m;
  m.instance = on.name;
  m.bus = BytesPerSecond(map.required_number("bus_bytes_per_second", kLeastRate, kMostRate));
  m.nodes = map.required_whole("nodes", 2, topology::kMostNodes);
  m.ranks = map.required_whole("ranks", 2, kMost);
  m.bytes = Bytes(map.required_number("bytes", 1, kMostBytes));
  m.log_sd = map.required_number("log_sd", 0, kLogSdMost);
  m.per_doubling = map.required_number("log_sd_per_doubling", 0, kLogSdMost);
  if (m.nodes > 0 && (m.ranks % m.nodes != 0 || m.ranks / m.nodes > on.cores()))
    map.fault("ranks", "they do not sit equally on that many nodes of " + on.name,
              "write the file again with plan --out");
  plan.job.all_reduce = m;
}

/// Dimensions by their names in config.json.
struct Dimension {
  const char* key;
  int models::Architecture::*member;
};
constexpr Dimension kShape[] = {{"num_hidden_layers", &models::Architecture::layers},
                                {"hidden_size", &models::Architecture::hidden},
                                {"intermediate_size", &models::Architecture::intermediate},
                                {"num_attention_heads", &models::Architecture::heads},
                                {"num_key_value_heads", &models::Architecture::kv_heads},
                                {"vocab_size", &models::Architecture::vocabulary},
                                {"num_local_experts", &models::Architecture::experts}};

/// Compares a config.json with the plan, which may be of another model.
void compare_shape(const models::Architecture& planned, const models::Architecture& found,
                   const std::string& file, std::vector<Diagnostic>& faults) {
  for (const Dimension& d : kShape) {
    if (planned.*d.member == found.*d.member) continue;
    faults.push_back(
        {{file, 0, 0},
         d.key,
         std::to_string(found.*d.member) + ", but plan.json is for a model with " +
             std::to_string(planned.*d.member),
         "put the config.json of the plan back, or plan this model: trnplan plan JOB --out DIR --force"});
  }
}

/// Checks numbers of the file that would contradict each other if somebody changed it.
void check_sums(const Node& root, const PlanFile& plan, MapReader& map) {
  const auto refuse = [&](const char* key, std::string problem) {
    map.fault(key, std::move(problem), "write the file again with plan --out");
  };
  const models::Strategy& s = plan.strategy;
  const models::Training& t = plan.job.training;
  const std::int64_t ranks =
      saturating_product({s.tensor_parallel, s.pipeline_parallel, s.context_parallel, s.data_parallel});
  if (ranks != plan.job.cluster.cores()) {
    refuse("strategy", "its degrees cover " + std::to_string(ranks) + " ranks, and " +
                           std::to_string(plan.job.cluster.nodes) + " x " + plan.job.cluster.instance.name +
                           " have " + std::to_string(plan.job.cluster.cores()) + " cores");
  }
  if (t.global_batch % saturating_product({s.micro_batch, s.data_parallel}) != 0) {
    refuse("job", "global batch " + std::to_string(t.global_batch) + " does not divide by micro-batch " +
                      std::to_string(s.micro_batch) + " x DP " + std::to_string(s.data_parallel));
  }
  if (const Node* batch = root.find("global_batch"); batch != nullptr && whole_of(*batch) != t.global_batch)
    refuse("global_batch", "is not that of the job, " + std::to_string(t.global_batch));
  const Node* speed = root.find("tokens_per_second");
  const double tokens = static_cast<double>(t.sequence) * t.global_batch;
  if (speed == nullptr || std::abs(stated(*speed) * plan.step.value / tokens - 1) < 1e-3) return;
  refuse("tokens_per_second", "is not that of the step and of the job's sequence and global batch");
}

/// Reads the plan's architecture, which the config.json next to it must have.
void read_architecture(const std::filesystem::path& path, PlanFile& plan, const Files& files) {
  const std::filesystem::path file = path.parent_path() / "config.json";
  models::Architecture found = read_hf_config(file, files).architecture;
  if (!plan.config.is_null()) {
    models::Architecture planned = hf_config_from(plan.config, found.name).architecture;
    std::vector<Diagnostic> faults;
    compare_shape(planned, found, file.string(), faults);
    if (!faults.empty()) throw InputError(std::move(faults));
    planned.source_config = found.source_config;
    found = std::move(planned);
  }
  if (!plan.job.architecture.name.empty()) found.name = plan.job.architecture.name;
  found.flash_attention = plan.strategy.flash_attention;
  plan.job.architecture = std::move(found);
}

constexpr const char* kVersionKey = "trnplan_version";
constexpr const char* kHashKey = "sha256";
constexpr std::size_t kHashDigits = 64;

/// Position of the hash in the text; npos if it has none.
std::size_t hash_place(const std::string& text) {
  const std::string before = std::string("\"") + kHashKey + "\": \"";
  const std::size_t at = text.rfind(before);
  if (at == std::string::npos || text.size() < at + before.size() + kHashDigits) return std::string::npos;
  return at + before.size();
}

/// Hash of the text with zeros in the hash's place.
std::string hash_of(std::string text, std::size_t place) {
  return sha256(text.replace(place, kHashDigits, kHashDigits, '0'));
}

bool is_unchanged(const std::string& text) {
  const std::size_t place = hash_place(text);
  return place != std::string::npos && text.substr(place, kHashDigits) == hash_of(text, place);
}

/// The price of a node that the user chose.
topology::Price price_from(const Node& node, std::vector<Diagnostic>& faults) {
  MapReader map(node, "job.price", faults);
  topology::Price p;
  p.kind = map.required_text("kind");
  if (p.kind != topology::Price::kStated && !planner::pricing_from(p.kind))
    map.fault("kind", in_quotes(printable(p.kind)) + " is no kind of price",
              "write on_demand, reserved, capacity_block, spot or stated");
  p.usd_per_hour = map.required_number("usd_per_hour", 0, 1e9);
  if (p.usd_per_hour <= 0)
    map.fault("usd_per_hour", "a price is more than 0", "write it, or leave price out");
  p.region = map.text("region", "");
  p.date = map.text("date", "");
  p.terms = map.text("terms", "");
  p.source = map.text("source", "");
  return p;
}

void read_job_part(const Node& node, PlanFile& plan, std::vector<Diagnostic>& faults) {
  MapReader map(node, "job", faults);
  plan.job.architecture.name = map.text("model", "");
  if (const Node* config = map.raw("config")) plan.config = *config;
  plan.job.training.sequence = map.required_whole("sequence", 1, kMost);
  plan.job.training.global_batch = map.required_whole("global_batch", 1, kMost);
  plan.job.training.tokens = map.number("tokens", 0, 0, 1e18);
  plan.job.software.framework = map.text("framework", "");
  plan.job.software.release = map.text("release", "");
  plan.job.software.in_flight = map.whole("requests_in_flight", 0, 0, kMost);
  plan.job.software.version = map.text("version", "");
  plan.job.software.fuse_qkv = map.boolean("fuse_qkv", true);
  plan.job.software.sequential_move = map.whole("sequential_move_factor", 0, 0, kMost);
  read_learning(map, plan.job.learning, faults);
  read_run_files(map, plan.job.run, faults);
  plan.job.run.planned_checkpoint_steps = map.whole("planned_checkpoint_steps", 0, 0, kMost);
  if (const Node* price = map.raw("price")) plan.job.cluster.instance.chosen = price_from(*price, faults);
}

}  // namespace

std::string plan_file_json(const models::Job& job, const planner::Plan& plan, const PlanStory& story) {
  Json file = document();
  file.update(record<planner::Plan>()(plan));
  file["strategy"]["bucket_mb"] = plan.strategy.bucket_mb;
  file["target"] = story.target;
  file["software"] = story.software;
  file["job"] = {{"model", job.architecture.name},
                 {"config", Json::parse(hf_config_json(job.architecture))},
                 {"sequence", job.training.sequence},
                 {"global_batch", plan.global_batch > 0 ? plan.global_batch : job.training.global_batch},
                 {"tokens", job.training.tokens},
                 {"framework", job.software.framework},
                 {"release", job.software.release}};
  if (job.software.in_flight > 0) file["job"]["requests_in_flight"] = job.software.in_flight;
  if (!job.software.fuse_qkv) file["job"]["fuse_qkv"] = false;
  if (job.software.sequential_move > 0) file["job"]["sequential_move_factor"] = job.software.sequential_move;
  if (!job.software.version.empty()) file["job"]["version"] = job.software.version;
  if (Json learning = Json::parse(learning_json(job.learning)); !learning.empty())
    file["job"]["learning"] = learning;
  if (Json run = Json::parse(run_files_json(job.run)); !run.empty()) file["job"]["run"] = run;
  if (job.run.planned_checkpoint_steps > 0)
    file["job"]["planned_checkpoint_steps"] = job.run.planned_checkpoint_steps;
  if (const auto& paid = job.cluster.instance.chosen)
    file["job"]["price"] = {{"kind", paid->kind},     {"usd_per_hour", paid->usd_per_hour},
                            {"region", paid->region}, {"date", paid->date},
                            {"terms", paid->terms},   {"source", paid->source}};
  file[kVersionKey] = program_version();
  file[kHashKey] = std::string(kHashDigits, '0');
  std::string text = file.dump(1, ' ', true, Json::error_handler_t::replace) + "\n";
  const std::size_t place = hash_place(text);
  return text.replace(place, kHashDigits, hash_of(text, place));
}

std::string plan_version(const std::string& text) {
  try {
    const Node root = parse_document(text, kPlanFile);
    const Node* version = root.find(kVersionKey);
    return version == nullptr ? "" : version->scalar;
  } catch (const InputError&) {
    return "";
  }
}

PlanFile read_plan_file(const std::filesystem::path& path, const Catalog& catalog, const Files& files) {
  const std::string text = files.text(path);
  const Node root = parse_document(text, path.string());
  std::vector<Diagnostic> faults;
  PlanFile plan;
  plan.unchanged = is_unchanged(text);
  MapReader map(root, "", faults);
  const Node *strategy = map.raw("strategy"), *job = map.raw("job");
  if (strategy == nullptr || job == nullptr) {
    throw InputError({{path.string(), 0, 0},
                      "",
                      "this is not a plan.json of plan --out: it has no strategy or no job",
                      "write the folder with trnplan plan JOB --out DIR"});
  }
  check_schema(map);
  int nodes = 1;
  std::string instance;
  plan.strategy = read_strategy(*strategy, nodes, instance, faults);
  read_prediction(root, map, plan);
  read_job_part(*job, plan, faults);
  plan.version = map.text(kVersionKey, "");
  plan.target = map.text("target", std::string(targets::standard().name()));
  if (!faults.empty()) throw InputError(std::move(faults));
  try {
    std::optional<topology::Price> chosen = std::move(plan.job.cluster.instance.chosen);
    plan.job.cluster = {catalog.instance(instance), nodes};
    plan.job.cluster.instance.chosen = std::move(chosen);
    if (const auto& paid = plan.job.cluster.instance.chosen) plan.usd_per_hour = nodes * paid->usd_per_hour;
  } catch (const InputError& e) {
    for (Diagnostic d : e.faults()) {
      if (d.at.file.empty()) d.at = strategy->find("instance")->at;
      if (d.key.empty()) d.key = "strategy.instance";
      faults.push_back(std::move(d));
    }
    throw InputError(std::move(faults));
  }
  if (const Node* network = map.raw("network")) read_network(*network, plan, faults);
  plan.job.neuron_releases = catalog.neuron_releases();
  check_sums(root, plan, map);
  if (!faults.empty()) throw InputError(std::move(faults));
  plan.job.training.precision = plan.strategy.precision;
  read_architecture(path, plan, files);
  if (const planner::Target* target = targets::find(plan.target))
    targets::take_defaults(plan.job, *target, true);
  return plan;
}

}  // namespace trnplan::io
