#include "io/input/cluster_files.h"

#include <algorithm>
#include <set>
#include <utility>

#include "io/input/cluster_groups.h"
#include "topology/instance.h"

namespace trnplan::io {

namespace {

/// Most groups in a message: a hostile file may have many.
constexpr std::size_t groups_told = 20;

std::string list_of(const std::vector<ClusterGroup>& groups) {
  std::string all;
  for (std::size_t i = 0; i < groups.size() && i < groups_told; ++i) {
    const ClusterGroup& g = groups[i];
    all += (all.empty() ? "" : ", ") + printable(g.name, 60) + " (" + std::to_string(g.hosts) +
           (g.instance.empty() ? " nodes)" : " x " + g.instance + ")");
  }
  return all + (groups.size() > groups_told ? ", ..." : "");
}

bool is_called(const ClusterGroup& g, const std::string& name) {
  return g.name == name || std::find(g.aliases.begin(), g.aliases.end(), name) != g.aliases.end();
}

std::optional<ClusterGroup> named_group(const std::vector<ClusterGroup>& groups, const std::string& wanted,
                                        const std::string& kind, const SourcePos& file,
                                        std::vector<Diagnostic>& faults) {
  std::vector<ClusterGroup> found;
  for (const ClusterGroup& g : groups) {
    if (is_called(g, wanted)) found.push_back(g);
  }
  if (found.size() == 1) return found.front();
  if (found.size() > 1) {
    faults.push_back(
        {file, "group",
         in_quotes(wanted) + " names " + std::to_string(found.size()) + " groups: " + list_of(found),
         "name one of them"});
    return std::nullopt;
  }
  std::vector<std::string> names;
  for (const ClusterGroup& g : groups) names.push_back(g.name);
  const std::string near = nearest(wanted, names);
  faults.push_back(
      {file, "group", "no " + kind + " with Trainium nodes is called " + in_quotes(wanted),
       (near.empty() ? "" : "did you mean " + in_quotes(near) + "? ") + "There are: " + list_of(groups)});
  return std::nullopt;
}

/// Reads the items of a required list.
template <class Item>
void each_item(MapReader& map, const char* key, const std::string& where, std::vector<Diagnostic>& faults,
               const Item& item) {
  const Node* list = map.raw(key);
  if (list == nullptr || list->kind != Node::Kind::sequence || list->items.empty()) {
    map.fault(key, list == nullptr ? "this key is missing" : "a list with at least one entry was expected",
              "give the whole file from which the cluster is created");
    return;
  }
  for (std::size_t i = 0; i < list->items.size() && faults.size() < cluster_faults_most; ++i)
    item(list->items[i], where + std::string(key) + "[" + std::to_string(i) + "]");
}

/// Far above any cluster; a count that is too large for one is reported when the group is chosen.
constexpr int count_most = 1'000'000;

// ---- HyperPod ----

std::vector<ClusterGroup> hyperpod_groups(const Node& root, const MachineNames& known,
                                          std::vector<Diagnostic>& faults) {
  std::vector<ClusterGroup> groups;
  std::set<std::string> names;
  MapReader map(root, "", faults);
  each_item(map, "InstanceGroups", "", faults, [&](const Node& node, const std::string& where) {
    MapReader fields(node, where, faults);
    ClusterGroup group;
    group.at = node.at;
    group.name = fields.required_text("InstanceGroupName");
    const std::string type = fields.required_text("InstanceType");
    group.hosts = fields.required_whole("InstanceCount", 0, count_most);
    if (!group.name.empty() && !names.insert(group.name).second)
      fields.fault("InstanceGroupName", in_quotes(group.name) + " is the name of two groups",
                   "name each group once");
    const Node* at = fields.raw("InstanceType");
    const auto known_type =
        known.find(type, at == nullptr ? node.at : at->at, where + ".InstanceType", faults);
    if (!known_type) return;
    group.instance = *known_type;
    groups.push_back(std::move(group));
  });
  return groups;
}

// ---- ParallelCluster ----

/// One compute resource with Trainium nodes.
struct ComputeResource {
  std::string queue, name, instance;
  int least = 0, most = 0;
  bool efa = false;
  SourcePos at;
};

/// The instance types of a compute resource: InstanceType, or Instances[].InstanceType.
std::vector<std::pair<std::string, SourcePos>> types_of(MapReader& fields, const Node& node,
                                                        const std::string& where,
                                                        std::vector<Diagnostic>& faults) {
  std::vector<std::pair<std::string, SourcePos>> types;
  const Node* single = fields.raw("InstanceType");
  const Node* list = fields.raw("Instances");
  if (single != nullptr && list != nullptr) {
    fields.fault("Instances", "InstanceType is stated as well", "keep one of the two");
  } else if (list != nullptr) {
    each_item(fields, "Instances", where + ".", faults, [&](const Node& item, const std::string& place) {
      MapReader one(item, place, faults);
      types.emplace_back(one.required_text("InstanceType"), item.at);
    });
  } else {
    types.emplace_back(fields.required_text("InstanceType"), single == nullptr ? node.at : single->at);
  }
  return types;
}

/// The one Trainium type of a compute resource; nullopt for other hardware.
std::optional<std::string> type_of(MapReader& fields, const Node& node, const std::string& where,
                                   const MachineNames& known, std::vector<Diagnostic>& faults) {
  std::set<std::string> found;
  const auto types = types_of(fields, node, where, faults);
  for (const auto& [type, at] : types) {
    if (const auto name = known.find(type, at, where + ".InstanceType", faults)) found.insert(*name);
  }
  if (found.empty()) return std::nullopt;
  if (found.size() == 1 && types.size() == 1) return *found.begin();
  faults.push_back({node.at, where + ".Instances",
                    "this resource may start nodes of several types, but a job needs equal ones",
                    "list one instance type"});
  return std::nullopt;
}

class ParallelClusterReader {
 public:
  ParallelClusterReader(const MachineNames& known, std::vector<Diagnostic>& faults)
      : known_(known), faults_(faults) {}

  void read(const Node& root) {
    MapReader map(root, "", faults_);
    const Node* scheduling = map.raw("Scheduling");
    if (scheduling == nullptr) {
      map.fault("Scheduling", "this key is missing",
                "give the file of pcluster create-cluster --cluster-configuration");
      return;
    }
    MapReader fields(*scheduling, "Scheduling", faults_);
    each_item(fields, "SlurmQueues", "Scheduling.", faults_,
              [&](const Node& node, const std::string& where) { read_queue(node, where); });
  }

  /// A queue with Trainium resources of one type is one group, else each resource is.
  std::vector<ClusterGroup> groups() const {
    std::vector<ClusterGroup> all;
    for (const ComputeResource& r : resources_) {
      const bool mixed = std::any_of(resources_.begin(), resources_.end(), [&](const ComputeResource& o) {
        return o.queue == r.queue && o.instance != r.instance;
      });
      const std::string whole = r.queue + "/" + r.name;
      const auto same =
          std::find_if(all.begin(), all.end(), [&](const ClusterGroup& g) { return g.name == r.queue; });
      if (same != all.end()) {
        same->hosts += std::min(r.most, count_most - same->hosts);
      } else if (mixed) {
        all.push_back({whole, r.instance, r.most, {r.name, r.queue}, r.at});
      } else {
        all.push_back({r.queue, r.instance, r.most, aliases_of(r.queue), r.at});
      }
    }
    return all;
  }

  /// Each resource by itself, for a user who names one.
  std::vector<ClusterGroup> resources() const {
    std::vector<ClusterGroup> all;
    for (const ComputeResource& r : resources_)
      all.push_back({r.queue + "/" + r.name, r.instance, r.most, {r.name}, r.at});
    return all;
  }

  std::vector<std::string> notes(const ClusterGroup& chosen) const {
    std::vector<std::string> notes;
    for (const ComputeResource& r : resources_) {
      const std::string whole = r.queue + "/" + r.name;
      if (r.queue != chosen.name && whole != chosen.name) continue;
      if (r.least < r.most) {
        notes.push_back(printable(whole, 80) + ": MaxCount " + std::to_string(r.most) +
                        " is counted; MinCount is " + std::to_string(r.least));
      }
      if (!r.efa && chosen.hosts > 1)
        notes.push_back(printable(whole, 80) +
                        ": Efa.Enabled is not true, but times between nodes are those of EFA");
    }
    return notes;
  }

 private:
  /// Other names of a queue: that of its resource, if it has one only.
  std::vector<std::string> aliases_of(const std::string& queue) const {
    std::vector<std::string> names;
    for (const ComputeResource& r : resources_) {
      if (r.queue == queue) names.push_back(r.name);
    }
    if (names.size() != 1) return {};
    return {names.front(), queue + "/" + names.front()};
  }

  void read_queue(const Node& node, const std::string& where) {
    MapReader fields(node, where, faults_);
    const std::string queue = fields.required_text("Name");
    if (!queue.empty() && !queues_.insert(queue).second)
      fields.fault("Name", in_quotes(queue) + " is the name of two queues", "name each queue once");
    each_item(fields, "ComputeResources", where + ".", faults_,
              [&](const Node& item, const std::string& at) { read_resource(item, at, queue); });
  }

  void read_resource(const Node& node, const std::string& where, const std::string& queue) {
    MapReader fields(node, where, faults_);
    ComputeResource r;
    r.queue = queue;
    r.at = node.at;
    r.name = fields.required_text("Name");
    const auto type = type_of(fields, node, where, known_, faults_);
    r.least = fields.whole("MinCount", 0, 0, count_most);
    if (type || fields.has("MaxCount")) r.most = fields.required_whole("MaxCount", 0, count_most);
    if (r.least > r.most && fields.has("MaxCount"))
      fields.fault("MinCount", "MinCount " + std::to_string(r.least) + " is above MaxCount",
                   "correct one of them");
    if (const Node* efa = fields.raw("Efa"); efa != nullptr) {
      MapReader inner(*efa, where + ".Efa", faults_);
      r.efa = inner.boolean("Enabled", false);
    }
    if (!type) return;
    r.instance = *type;
    resources_.push_back(std::move(r));
  }

  const MachineNames& known_;
  std::vector<Diagnostic>& faults_;
  std::set<std::string> queues_;
  std::vector<ComputeResource> resources_;
};

}  // namespace

std::optional<std::string> MachineNames::find(std::string_view type) const {
  if (type.starts_with("ml.")) type.remove_prefix(3);
  if (const auto found = std::find(names_.begin(), names_.end(), type); found != names_.end()) return *found;
  if (type.find('.') == std::string_view::npos) return std::nullopt;  // no type of EC2
  if (!by_type_) {
    by_type_.emplace();
    for (const std::string& name : names_) {
      if (const std::string ec2 = catalog_.instance(name).ec2_type; !ec2.empty())
        by_type_->emplace(ec2, name);
    }
  }
  const auto found = by_type_->find(type);
  return found == by_type_->end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::string> MachineNames::find(std::string_view type, const SourcePos& at,
                                              const std::string& key, std::vector<Diagnostic>& faults) const {
  const auto name = find(type);
  if (name) return name;
  const std::string_view bare = type.starts_with("ml.") ? type.substr(3) : type;
  if (!bare.starts_with("trn")) return std::nullopt;
  const std::string near = nearest(bare, names_);
  faults.push_back({at, key, "unknown Trainium type " + in_quotes(type),
                    near.empty() ? "the catalogue knows no such instance; add it, or correct the type"
                                 : "did you mean " + in_quotes(near) + "?"});
  return std::nullopt;
}

ClusterReading reading_of(const ClusterGroup& g, const Catalog& catalog, std::vector<std::string> notes,
                          std::vector<Diagnostic>& faults) {
  ClusterReading reading{g.instance, g.hosts, g.hosts, "", g.name, std::move(notes)};
  const int of_one = g.instance.empty() ? 1 : catalog.instance(g.instance).hosts;
  if (of_one == 1) return reading;
  reading.nodes = g.hosts / of_one;
  const std::string words =
      std::to_string(g.hosts) + " hosts, and a " + g.instance + " is " + std::to_string(of_one);
  if (reading.nodes == 0) {
    faults.push_back({g.at, "", printable(g.name, 60) + " has " + words,
                      "make it " + std::to_string(of_one) + " or a multiple of it"});
  } else if (g.hosts % of_one != 0) {
    reading.notes.push_back(printable(g.name, 60) + ": " + words + ": " + std::to_string(reading.nodes) +
                            " counted, " + std::to_string(g.hosts % of_one) + " left over");
  }
  return reading;
}

std::optional<ClusterGroup> choose_group(const std::vector<ClusterGroup>& groups, const std::string& wanted,
                                         const std::string& kind, const SourcePos& file,
                                         std::vector<Diagnostic>& faults) {
  if (groups.empty()) {
    faults.push_back({file, "", "no " + kind + " has Trainium nodes",
                      "give the file of a cluster with Trainium nodes, or write instance and nodes"});
    return std::nullopt;
  }
  std::optional<ClusterGroup> chosen;
  if (!wanted.empty()) {
    chosen = named_group(groups, wanted, kind, file, faults);
  } else if (groups.size() == 1) {
    chosen = groups.front();
  } else {
    faults.push_back(
        {file, "", std::to_string(groups.size()) + " of " + kind + " have Trainium nodes: " + list_of(groups),
         "name one next to the file, for example group: " + printable(groups.front().name, 60)});
  }
  if (!chosen) return std::nullopt;
  if (chosen->hosts >= 1 && chosen->hosts <= topology::kMostNodes) return chosen;
  faults.push_back({chosen->at, "",
                    kind + " " + in_quotes(chosen->name) + " has " + std::to_string(chosen->hosts) + " nodes",
                    "a cluster has 1 to " + std::to_string(topology::kMostNodes) + " nodes"});
  return std::nullopt;
}

ClusterReading read_hyperpod(const std::filesystem::path& path, const Catalog& catalog,
                             const std::string& group, const Files& files) {
  const Node root = parse_document(files.text(path), path.string());
  std::vector<Diagnostic> faults;
  const std::vector<ClusterGroup> groups = hyperpod_groups(root, MachineNames(catalog), faults);
  std::optional<ClusterGroup> chosen;
  if (faults.empty()) chosen = choose_group(groups, group, "instance group", root.at, faults);
  ClusterReading reading;
  if (chosen) reading = reading_of(*chosen, catalog, {}, faults);
  if (!faults.empty()) throw InputError(std::move(faults));
  return reading;
}

std::string kubernetes_flavour_of(const std::filesystem::path& path, const Files& files) {
  const Node root = parse_document(files.text(path), path.string());
  if (root.at_path("Orchestrator.Eks") != nullptr) return "hyperpod-eks";
  throw InputError({{path.string(), 0, 0},
                    "Orchestrator.Eks",
                    "is missing, so this is not a Kubernetes cluster",
                    "give the file from which a HyperPod cluster on EKS is created, or --cluster-flavour"});
}

ClusterReading read_parallelcluster(const std::filesystem::path& path, const Catalog& catalog,
                                    const std::string& group, const Files& files) {
  const Node root = parse_document(files.text(path), path.string());
  std::vector<Diagnostic> faults;
  const MachineNames known(catalog);
  ParallelClusterReader reader(known, faults);
  reader.read(root);
  std::optional<ClusterGroup> chosen;
  if (faults.empty()) {
    const std::vector<ClusterGroup> groups = reader.groups(), resources = reader.resources();
    const auto called = [&](const ClusterGroup& g) { return is_called(g, group); };
    // The name of a part of a queue means that part, unless a queue has the name.
    const bool part = !group.empty() && std::none_of(groups.begin(), groups.end(), called) &&
                      std::any_of(resources.begin(), resources.end(), called);
    chosen = choose_group(part ? resources : groups, group, "queue", root.at, faults);
  }
  ClusterReading reading;
  if (chosen) reading = reading_of(*chosen, catalog, reader.notes(*chosen), faults);
  if (!faults.empty()) throw InputError(std::move(faults));
  return reading;
}

}  // namespace trnplan::io
