#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/input/cluster_files.h"
#include "io/input/instance_names.h"
#include "io/input/job_input.h"
#include "io/input/job_keys.h"
#include "io/input/job_sections.h"
#include "io/input/job_space.h"

namespace trnplan::io {

namespace {

namespace fs = std::filesystem;

/// Keys of the files that describe a whole cluster, and their readers.
using ClusterReader = ClusterReading (*)(const fs::path&, const Catalog&, const std::string&, const Files&);
constexpr std::pair<const char*, ClusterReader> kClusterFiles[] = {
    {"hyperpod", read_hyperpod}, {"parallelcluster", read_parallelcluster}, {"sinfo", read_sinfo}};

bool is_known(const Catalog& catalog, const std::string& instance) {
  const std::vector<std::string> names = catalog.instances();
  return std::find(names.begin(), names.end(), instance) != names.end();
}

/// Fix for a file that names no machine of the catalogue: the machines of the kind that it indicates.
std::string machines_instead(const Catalog& catalog, std::string_view unknown) {
  if (unknown.empty()) return "add instance: " + catalog.default_instance() + " next to it";
  if (unknown.starts_with("ml.")) unknown.remove_prefix(3);
  const bool neuron = unknown.starts_with("trn") || unknown.starts_with("inf");
  std::vector<std::string> alike;
  for (const std::string& name : catalog.instances()) {
    const topology::Accelerator a = catalog.instance(name).traits.accelerator;
    if ((a == topology::Accelerator::neuron_core) == neuron) alike.push_back(name);
  }
  return "add the closest of these next to it as instance: " + joined(alike);
}

void take_cluster(JobDraft& d, MapReader& fields, const ClusterReading& read, const std::string& key,
                  std::string& instance, bool nodes_stated) {
  for (const std::string& n : read.notes) d.note("cluster." + key + ": " + n, "cluster");
  if (!instance.empty() && !read.instance.empty() && instance != read.instance) {
    fields.fault("instance", in_quotes(instance) + " is stated, but the file says " + read.instance,
                 "remove instance, or name another group");
  } else if (instance.empty() && read.instance.empty()) {
    fields.fault(key,
                 read.unknown.empty() ? "the file does not state the type of its nodes"
                                      : "its nodes are " + in_quotes(read.unknown, 60) +
                                            ", which is not a machine of the catalogue",
                 machines_instead(d.catalog, read.unknown));
  }
  int nodes = read.nodes;
  if (read.instance.empty() && is_known(d.catalog, instance)) {  // the file counts hosts
    const int hosts = d.catalog.instance(instance).hosts;
    nodes = read.hosts / hosts;
    if (nodes == 0) {
      return fields.fault(
          key, std::to_string(read.hosts) + " hosts, and a " + instance + " is " + std::to_string(hosts),
          "name a file with whole nodes, or another instance");
    }
  }
  if (instance.empty()) instance = read.instance;
  if (!nodes_stated) {
    d.job().cluster.nodes = nodes;
  } else if (d.job().cluster.nodes > nodes && fields.raw("nodes")->at.file != kCommandLine) {
    fields.fault("nodes",
                 std::to_string(d.job().cluster.nodes) + " nodes are stated, but " + in_quotes(read.group) +
                     " has " + std::to_string(nodes),
                 "write nodes: " + std::to_string(nodes) + " or fewer, or remove the key");
  }
}

/// Reads type and number of nodes from a file that describes the cluster. True if a file is named, good or
/// not.
bool read_cluster_file(JobDraft& d, MapReader& fields, std::string& instance, bool nodes_stated) {
  const std::string group = fields.text("group", "");
  std::string key;
  for (const auto& [kind, reads] : kClusterFiles) {
    if (!fields.has(kind)) {
      fields.ignore({kind});
      continue;
    }
    const std::string name = fields.text(kind, "");
    if (!key.empty()) {
      fields.fault(kind, key + " is stated as well", "keep one file that describes the cluster");
      continue;
    }
    key = kind;
    if (name.empty()) continue;  // not a text: already a fault
    const fs::path file = d.beside_job(name);
    if (!d.files.has(file)) {
      fields.fault(kind, in_quotes(name) + " is not a file", "give the path relative to the job");
      continue;
    }
    d.collect([&, read = reads] {
      take_cluster(d, fields, read(file, d.catalog, group, d.files), key, instance, nodes_stated);
    });
  }
  if (key.empty() && !group.empty())
    fields.fault("group", "there is no file that has groups", "add hyperpod, parallelcluster or sinfo: FILE");
  return !key.empty();
}

bool known_instance(JobDraft& d, MapReader& fields, const std::string& name) {
  if (is_known(d.catalog, name)) return true;
  fields.fault("instance", "unknown instance type " + in_quotes(name),
               instance_fix(name, d.catalog.instances()));
  return false;
}

void read_instance(JobDraft& d, MapReader& fields, const std::string& name) {
  if (known_instance(d, fields, name))
    d.collect([&] { d.job().cluster.instance = d.catalog.instance(name); });
}

void read_listing(JobDraft& d, MapReader& fields, const std::string& listing, const std::string& instance) {
  if (!instance.empty() && !known_instance(d, fields, instance)) return;
  const fs::path file = d.beside_job(listing);
  if (!d.files.has(file)) {
    fields.fault("neuron_ls", in_quotes(listing) + " is not a file", "give the path relative to the job");
    return;
  }
  d.collect([&] { d.job().cluster.instance = read_neuron_ls(file, d.catalog, instance, d.files); });
  const std::string& printed = d.job().cluster.instance.name;
  if (!instance.empty() && !printed.empty() && printed != instance) {
    fields.fault("instance", in_quotes(instance) + " is stated, but the neuron-ls file shows a " + printed,
                 "remove instance, or give the file of that machine");
  }
}

/// The smallest machine with logical cores, each of two physical ones, as it is delivered.
std::optional<std::string> smallest_of_pairs(const Catalog& catalog) {
  std::optional<std::string> found;
  int chips = 0;
  for (const std::string& name : catalog.instances()) {
    const topology::Instance type = catalog.instance(name);
    if (!type.traits.logical_cores || type.core.lnc != 2 || (found && chips <= type.chips)) continue;
    found = name;
    chips = type.chips;
  }
  return found;
}

/// Chooses the instance of an NxDT file, which states ranks per node but no instance type.
void instance_of_nxdt(JobDraft& d, MapReader& map) {
  if (d.devices == 0) return;  // the file could not be read; its own faults say so
  std::optional<std::string> found;
  if (d.logical_cores) {
    found = smallest_of_pairs(d.catalog);
  } else {
    found = d.catalog.default_instance();
  }
  if (!found) {
    map.fault("cluster",
              "the instance type is not stated, and none with " + std::to_string(d.devices) +
                  " ranks per node is known",
              "add cluster: {instance: ..., nodes: ...}");
    return;
  }
  d.note("cluster.instance is not stated: " + *found + " assumed", "instance");
  d.collect([&] { d.job().cluster.instance = d.catalog.instance(*found); });
}

/// Converts num_nodes of an NxDT file, which counts hosts, several of which may be a node of the catalogue.
void nodes_of_hosts(JobDraft& d, MapReader& fields) {
  topology::Cluster& cluster = d.job().cluster;
  const int hosts = cluster.nodes, of_one = cluster.instance.hosts;
  if (of_one == 1) return;
  if (hosts % of_one != 0) {
    fields.fault("instance",
                 "trainer.num_nodes is " + std::to_string(hosts) + " hosts, and a " + cluster.instance.name +
                     " is " + std::to_string(of_one),
                 "add nodes: their number");
  }
  cluster.nodes = std::max(1, hosts / of_one);
}

}  // namespace

bool states_machine(const Node& job) {
  const Node* cluster = job.find("cluster");
  if (cluster == nullptr || !cluster->is_map()) return cluster != nullptr && !cluster->is_null();
  const auto stated = [&](const char* key) { return cluster->find(key) != nullptr; };
  return stated("instance") || stated("neuron_ls") ||
         std::any_of(std::begin(kClusterFiles), std::end(kClusterFiles),
                     [&](const auto& kind) { return stated(kind.first); });
}

void read_job_cluster(JobDraft& d, MapReader& map) {
  const Node* node = map.raw("cluster");
  if (node == nullptr || node->is_null()) {
    if (d.from_nxdt) {
      instance_of_nxdt(d, map);
    } else {
      map.fault("cluster", "this key is missing", "add cluster: {instance: trn1.32xlarge, nodes: 1}");
    }
    return;
  }
  MapReader fields = job_section(*node, "cluster", d.faults);
  const int stated = d.job().cluster.nodes;
  const bool nodes_stated = fields.has("nodes");
  if (!read_free_nodes(fields, d.job(), d.faults))
    d.job().cluster.nodes = fields.whole("nodes", stated, 1, topology::kMostNodes);
  const bool any_instance = read_free_instances(fields, d.catalog, d.job(), d.faults);
  std::string instance = any_instance ? "" : fields.text("instance", "");
  const std::string listing = fields.text("neuron_ls", "");
  const bool file = read_cluster_file(d, fields, instance, nodes_stated);
  if (any_instance) {
    if (file || !listing.empty())
      fields.fault("instance", "several types are stated together with a file that describes one",
                   "leave out the file or instance");
  } else if (!listing.empty()) {
    read_listing(d, fields, listing, instance);
  } else if (!instance.empty()) {
    read_instance(d, fields, instance);
  } else if (d.from_nxdt && !file) {
    instance_of_nxdt(d, map);
  } else if (node->is_map() && !file) {
    fields.fault("instance", "this key is missing",
                 "add instance: trn1.32xlarge, or neuron_ls, hyperpod, parallelcluster or sinfo: FILE");
  }
  if (d.from_nxdt && !nodes_stated && !file) nodes_of_hosts(d, fields);
  read_job_network(d, fields);
  fields.finish();
}

void note_devices(JobDraft& d) {
  const topology::Instance& i = d.job().cluster.instance;
  const int cores = i.host_cores();
  if (d.devices == 0 || cores == 0 || d.devices == cores) return;
  d.note("trainer.devices is " + std::to_string(d.devices) + ", " + (i.hosts > 1 ? "a host of " : "") +
             i.name + " has " + std::to_string(cores) + " cores: all of them are used",
         "devices");
}

}  // namespace trnplan::io
