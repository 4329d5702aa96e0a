#include "io/input/cluster_jobs.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "io/input/instance_names.h"
#include "io/input/job_sections.h"
#include "io/input/readers.h"
#include "planner/cost/goodput.h"
#include "text/diagnostic.h"
#include "text/parse.h"

namespace trnplan::io {

namespace {

namespace fs = std::filesystem;

constexpr double kMostOversubscription = 1000, kMostGigabytes = 1e6, kMostNodeUsd = 1e6;
constexpr int kMostPriority = 1'000'000, kMostRestarts = 1'000'000;

std::optional<Seconds> duration_of(MapReader& map, std::string_view key) {
  const Node* node = map.raw(key);
  if (node == nullptr || node->is_null()) return std::nullopt;
  const auto value = node->kind == Node::Kind::scalar ? parse_duration(node->scalar) : std::nullopt;
  if (!value) map.fault(key, "this is not a duration", "write for example 30d, 24h or 300s");
  return value;
}

/// A count as the text of an option; "" without one.
std::string count_text_of(MapReader& map, std::string_view key) {
  const double value = map.count(key, 0);
  return value > 0 ? fmt::format("{:.0f}", value) : std::string();
}

/// A path in the file, from where the program runs; a name that is no file there stays what it is.
std::string found_from(const fs::path& file, const std::string& name, const Files& files) {
  if (name.empty()) return name;
  const fs::path path = file.parent_path() / name;
  return files.has(path) || fs::path(name).has_extension() ? path.string() : name;
}

void read_scheduler(MapReader& root, StatedCluster& c, std::vector<Diagnostic>& faults) {
  const Node* node = root.raw("scheduler");
  static const Node none;
  const bool is_map = node != nullptr && node->is_map();
  MapReader fields(is_map ? *node : none, "scheduler", faults);
  c.scheduler = is_map ? fields.text("kind", "slurm") : root.text("scheduler", "slurm");
  std::vector<std::string> names;
  const planner::SchedulerKind* found = nullptr;
  for (const planner::SchedulerKind& kind : planner::scheduler_kinds()) {
    names.emplace_back(kind.name);
    if (kind.name == c.scheduler) found = &kind;
  }
  planner::RequeueSettings settings = found != nullptr ? found->defaults : planner::RequeueSettings{};
  settings.node_timeout = duration_of(fields, "node_timeout").value_or(settings.node_timeout);
  settings.delay = duration_of(fields, "delay").value_or(settings.delay);
  if (fields.has("restarts")) {
    const Node* limit = fields.raw("restarts");
    settings.restarts.reset();
    if (limit->kind != Node::Kind::scalar || limit->scalar != "unlimited")
      settings.restarts = fields.whole("restarts", 0, 0, kMostRestarts);
  } else {
    fields.ignore({"restarts"});
  }
  fields.finish();
  if (found == nullptr) {
    auto& map = is_map ? fields : root;
    map.fault(is_map ? "kind" : "scheduler", "there is no scheduler " + in_quotes(c.scheduler),
              "write one of: " + joined(names));
    return;
  }
  c.rule = found->make(settings);
}

void read_machines(const Node& node, StatedCluster& c, const Catalog& catalog,
                   std::vector<Diagnostic>& faults) {
  MapReader map(node, "cluster", faults);
  const std::string name = map.text("instance", catalog.default_instance());
  const std::vector<std::string> known = catalog.instances();
  if (std::find(known.begin(), known.end(), name) != known.end()) {
    c.instance = catalog.instance(name);
    c.oversubscription = c.instance.oversubscription;
  } else {
    map.fault("instance", "unknown instance type " + in_quotes(name), instance_fix(name, known));
  }
  c.nodes = map.required_whole("nodes", 1, topology::kMostNodes);
  c.spares = map.whole("spares", 0, 0, topology::kMostNodes);
  c.repair = duration_of(map, "repair");
  c.repair_slots = map.whole("repair_slots", 0, 1, topology::kMostNodes);
  c.oversubscription = map.number("oversubscription", c.oversubscription, 1, kMostOversubscription);
  if (map.has("usd_per_node_hour")) c.usd_per_node_hour = map.number("usd_per_node_hour", 0, 0, kMostNodeUsd);
  if (map.has("storage_gb_per_second"))
    c.storage_speed = map.number("storage_gb_per_second", 1, 1e-3, kMostGigabytes);
  map.ignore({"usd_per_node_hour", "storage_gb_per_second"});
  map.finish();
}

int checkpoint_steps_of(MapReader& map) {
  const Node* node = map.raw("checkpoint_steps");
  if (node == nullptr || (node->kind == Node::Kind::scalar && node->scalar == "best")) return 0;
  if (const auto whole = whole_of(*node); whole && *whole >= 1 && *whole <= planner::kMostCheckpointSteps)
    return *whole;
  map.fault("checkpoint_steps", "this is neither a number of steps nor best",
            "write for example 200, or best");
  return 0;
}

/// `sized`: the nodes of the cluster are known.
StatedClusterJob read_cluster_job(const Node& node, std::size_t index, const fs::path& file,
                                  const StatedCluster& c, bool sized, const Files& files,
                                  std::vector<Diagnostic>& faults) {
  MapReader map(node, fmt::format("jobs[{}]", index), faults);
  StatedClusterJob j;
  j.at = node.at;
  j.name = map.required_text("name");
  j.job = found_from(file, map.required_text("job"), files);
  j.nodes = map.required_whole("nodes", 1, topology::kMostNodes);
  for (const Node::Entry& entry : node.entries) j.places[entry.key] = entry.value.at;
  if (sized && j.nodes > c.nodes + c.spares) {
    map.fault("nodes",
              fmt::format("{} nodes are asked for, and the cluster has {}", j.nodes, c.nodes + c.spares),
              "write fewer, or more under cluster.nodes");
  }
  j.strategy = map.text("strategy", "");
  j.tokens = count_text_of(map, "tokens");
  j.sequence = count_text_of(map, "sequence");
  j.global_batch = count_text_of(map, "global_batch");
  j.priority = map.whole("priority", 0, 0, kMostPriority);
  j.start = duration_of(map, "start").value_or(Seconds{});
  j.checkpoint_steps = checkpoint_steps_of(map);
  j.asynchronous = map.boolean("async_checkpoints", false);
  map.finish();
  return j;
}

void read_jobs(MapReader& root, StatedCluster& c, const fs::path& file, const Files& files, bool sized,
               std::vector<Diagnostic>& faults) {
  const Node* list = root.raw("jobs");
  if (list == nullptr || list->kind != Node::Kind::sequence || list->items.empty()) {
    root.fault("jobs", "a list of jobs was expected",
               "write for example - {name: a, job: job.yaml, nodes: 4}");
    return;
  }
  if (list->items.size() > kMostClusterJobs) {
    root.fault("jobs", fmt::format("{} jobs are listed", list->items.size()),
               fmt::format("list at most {}", kMostClusterJobs));
    return;
  }
  std::set<std::string> names;
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    c.jobs.push_back(read_cluster_job(list->items[i], i, file, c, sized, files, faults));
    const StatedClusterJob& j = c.jobs.back();
    if (!j.name.empty() && !names.insert(j.name).second)
      faults.push_back({j.at, fmt::format("jobs[{}].name", i), in_quotes(j.name) + " is the name of two jobs",
                        "give each its own"});
  }
}

}  // namespace

StatedCluster read_cluster_jobs(const fs::path& path, const Catalog& catalog, const Files& files) {
  const Node root = parse_document(files.text(path), path.string());
  std::vector<Diagnostic> faults;
  MapReader map(root, "", faults);
  StatedCluster c;
  if (const Node* machines = map.raw("cluster"); machines != nullptr)
    read_machines(*machines, c, catalog, faults);
  else
    map.fault("cluster", "this key is missing",
              "write for example cluster: {instance: trn1.32xlarge, nodes: 16}");
  c.reliability = found_from(path, map.text("reliability", ""), files);
  if (const Node* named = map.raw("reliability"); named != nullptr) c.reliability_at = named->at;
  const bool sized = std::none_of(faults.begin(), faults.end(), [](const Diagnostic& f) {
    return f.key == "cluster.nodes" || f.key == "cluster.spares";
  });
  read_scheduler(map, c, faults);
  read_jobs(map, c, path, files, sized, faults);
  map.finish();
  if (!faults.empty()) throw InputError(std::move(faults));
  return c;
}

}  // namespace trnplan::io
