#include "io/input/job_space.h"
#include "io/input/instance_names.h"

#include <algorithm>
#include <cstdint>
#include <set>

#include "models/job/limits.h"
#include "text/parse.h"

namespace trnplan::io {

namespace {

/// Most clusters, each of which is a search.
constexpr std::size_t kMostClusters = 64;

bool is_range(const Node& node) {
  return node.kind == Node::Kind::scalar && node.scalar.find("..") != std::string::npos;
}

void read_batch_range(MapReader& training, const std::string& text, models::Job& job) {
  const std::size_t dots = text.find("..");
  const auto first = parse_whole(text.substr(0, dots)), last = parse_whole(text.substr(dots + 2));
  if (!first || !last || *first < 1 || *last < *first || *last > models::run_limits.global_batch) {
    training.fault("global_batch", in_quotes(text) + " is not a range of whole numbers",
                   "write the smallest and the largest batch, for example 512..2048");
    return;
  }
  job.space.smallest_batch = *first;
  job.space.largest_batch = *last;
  job.training.global_batch = *last;
}

/// Types for "any": those with timed steps, of the default type's family, as one profile times one family.
std::vector<std::string> timed_types(const Catalog& catalog) {
  std::vector<std::string> names = catalog.instances();
  const std::string family = catalog.instance(catalog.default_instance()).family;
  std::erase_if(names, [&](const std::string& name) {
    const topology::Instance type = catalog.instance(name);
    return !type.traits.step_time || type.family != family;
  });
  return names;
}

/// The types that a list names, each once.
std::vector<std::string> listed_types(const Node& list, const Catalog& catalog,
                                      std::vector<Diagnostic>& faults) {
  const std::vector<std::string> known = catalog.instances();
  std::vector<std::string> names;
  for (const Node& item : list.items) {
    const std::string& name = item.scalar;
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      faults.push_back({item.at, "cluster.instance", "unknown instance type " + in_quotes(name),
                        instance_fix(name, known)});
    } else if (std::find(names.begin(), names.end(), name) != names.end()) {
      faults.push_back(
          {item.at, "cluster.instance", in_quotes(name) + " is listed twice", "list each type once"});
    } else {
      names.push_back(name);
    }
  }
  return names;
}

void read_objective(MapReader& root, models::Job& job) {
  const std::string text = root.text("objective", "step_time");
  if (text == "cost") {
    job.objective = models::Objective::cost;
  } else if (text == "deadline") {
    job.objective = models::Objective::deadline;
  } else if (text != "step_time" && !text.empty()) {
    root.fault("objective", "unknown objective " + in_quotes(text), "write step_time, cost or deadline");
  }
}

void read_deadline(MapReader& root, models::Job& job) {
  const Node* node = root.raw("deadline");
  if (node != nullptr && !node->is_null()) {
    const auto value = parse_duration(node->scalar);
    if (value && value->value > 0) {
      job.deadline = *value;
    } else {
      root.fault("deadline", in_quotes(node->scalar) + " is not a duration",
                 "write for example 30d, 36h or 6w");
    }
  } else if (job.objective == models::Objective::deadline) {
    root.fault("objective", "the deadline is missing", "add deadline: 30d, or write objective: step_time");
  }
}

void read_budget(MapReader& root, models::Job& job) {
  const Node* node = root.raw("budget");
  if (node == nullptr || node->is_null()) return;
  const auto value = parse_usd(node->scalar);
  if (!value) root.fault("budget", in_quotes(node->scalar) + " is not an amount of USD", kUsdFix);
  job.budget = value.value_or(0);
}

}  // namespace

bool read_free_batch(MapReader& training, models::Job& job, std::vector<Diagnostic>& faults) {
  if (!training.has("global_batch")) return false;
  const Node* node = training.raw("global_batch");
  if (is_range(*node)) {
    read_batch_range(training, node->scalar, job);
    return true;
  }
  if (!node->is_map()) return false;
  MapReader fields(*node, "training.global_batch", faults);
  job.space.batch_per_node = fields.required_whole("per_node", 1, models::run_limits.global_batch);
  fields.finish();
  return true;
}

void settle_batch(MapReader& training, models::Job& job) {
  if (job.space.batch_per_node < 1) return;
  const std::int64_t batch = std::int64_t{job.space.batch_per_node} * job.cluster.nodes;
  if (batch > models::run_limits.global_batch) {
    training.fault("global_batch",
                   std::to_string(batch) + " sequences a step on " + std::to_string(job.cluster.nodes) +
                       " nodes are more than " + std::to_string(models::run_limits.global_batch),
                   "write a smaller per_node");
    return;
  }
  job.training.global_batch = static_cast<int>(batch);
}

bool read_free_nodes(MapReader& cluster, models::Job& job, std::vector<Diagnostic>& faults) {
  if (!cluster.has("nodes")) return false;
  const Node* node = cluster.raw("nodes");
  const bool list = node->kind == Node::Kind::sequence;
  if (!list && !is_range(*node)) return false;
  std::set<int> all;
  for (const Node& item : list ? node->items : std::vector<Node>{*node}) {
    const auto some = parse_doubling(item.scalar, topology::kMostNodes);
    if (some && !item.quoted) {
      all.insert(some->begin(), some->end());
    } else {
      faults.push_back(
          {item.at, "cluster.nodes", in_quotes(item.scalar) + " is not a number or range of nodes",
           "write 4..16 or [4, 8, 16], with numbers from 1 to " + std::to_string(topology::kMostNodes)});
    }
  }
  if (list && node->items.empty()) cluster.fault("nodes", "the list is empty", "write for example [4, 8]");
  if (all.size() > kMostClusters)
    cluster.fault("nodes", std::to_string(all.size()) + " clusters are asked for",
                  "ask for at most " + std::to_string(kMostClusters));
  if (all.empty()) return true;
  job.cluster.nodes = *all.rbegin();
  job.space.nodes.assign(all.begin(), all.end());
  return true;
}

bool read_free_instances(MapReader& cluster, const Catalog& catalog, models::Job& job,
                         std::vector<Diagnostic>& faults) {
  if (!cluster.has("instance")) return false;
  const Node* node = cluster.raw("instance");
  const bool list = node->kind == Node::Kind::sequence;
  if (!list && node->scalar != "any") return false;
  const std::vector<std::string> names = list ? listed_types(*node, catalog, faults) : timed_types(catalog);
  if (list && node->items.empty())
    cluster.fault("instance", "the list is empty", "write for example [trn1.32xlarge, trn1n.32xlarge]");
  for (const std::string& name : names) job.space.instances.push_back(catalog.instance(name));
  if (!names.empty()) job.cluster.instance = job.space.instances.front();
  if (names.size() * std::max<std::size_t>(1, job.space.nodes.size()) > kMostClusters)
    cluster.fault("instance", "more than " + std::to_string(kMostClusters) + " clusters are asked for",
                  "list fewer types or numbers of nodes");
  return true;
}

void read_goal(MapReader& root, models::Job& job) {
  read_objective(root, job);
  read_deadline(root, job);
  read_budget(root, job);
  // Without tokens the limits ask how far the run gets; that does not choose a number of nodes.
  if (job.objective == models::Objective::deadline && job.deadline.value > 0 && job.training.tokens <= 0)
    root.fault("objective", "training.tokens is not stated, so the length of the run is not known",
               "add tokens to training, for example tokens: 2T, or write objective: step_time");
}

}  // namespace trnplan::io
