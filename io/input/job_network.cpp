#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "io/input/job_input.h"
#include "io/input/job_sections.h"
#include "io/input/measured_network.h"

namespace trnplan::io {

namespace {

constexpr const char *kNumber = "all_reduce_gbps", *kTable = "measured";

bool from_options(const Node* node) {
  return node != nullptr && node->at.file == kCommandLine;
}

/// The key that counts; nullptr if none is stated, or, with a fault, both.
const char* stated_key(MapReader& cluster) {
  const Node *number = cluster.raw(kNumber), *table = cluster.raw(kTable);
  const bool has_number = cluster.has(kNumber), has_table = cluster.has(kTable);
  if (has_number && has_table) {
    if (from_options(number) != from_options(table)) return from_options(number) ? kNumber : kTable;
    cluster.fault(kTable, "all_reduce_gbps is stated as well", "keep one of the two");
    return nullptr;
  }
  return has_number ? kNumber : has_table ? kTable : nullptr;
}

/// Reason why the job's nodes are not those of a measurement that states none; nullptr if they are.
const char* why_nodes_unclear(const JobDraft& d, MapReader& cluster) {
  const topology::Cluster& on = d.reading.job.cluster;
  const bool replaced = from_options(cluster.raw("nodes")) && !from_options(cluster.raw(kNumber));
  if (replaced || d.reading.job.space.nodes.size() > 1)
    return "the job leaves its nodes open, and on how many this was measured is not stated";
  if (on.nodes < 2) return "on one node there is no network between nodes";
  return nullptr;
}

void read_number(JobDraft& d, MapReader& cluster, const NetworkSpreads& spreads) {
  const std::string text = cluster.text(kNumber, "");
  const auto stated = parse_all_reduce(text);
  const std::size_t behind = text.find('@');
  if (!stated && behind != std::string::npos && parse_all_reduce(text.substr(0, behind))) {
    const std::string nodes = text.substr(behind + 1);
    return cluster.fault(
        kNumber,
        fmt::format("{} is no number of nodes from 2 to {}{}", in_quotes(nodes, 40), topology::kMostNodes,
                    nodes == "1" ? ": on one node there is no network between nodes" : ""),
        "write behind @ the nodes that it was measured on: " + text.substr(0, behind) + "@32");
  }
  if (!stated) {
    return cluster.fault(
        kNumber, in_quotes(text, 40) + " is not a bandwidth from 0.001 to 100000 GB/s, alone or with nodes",
        "write the bus bandwidth that nccl-tests or nccom-test prints: 161, or 161@32 if it was measured on "
        "32 nodes");
  }
  topology::Cluster on = d.job().cluster;
  if (const char* unclear = why_nodes_unclear(d, cluster); !stated->nodes && unclear != nullptr) {
    return cluster.fault(kNumber, unclear,
                         "write behind it the nodes that it was measured on: " + text + "@32");
  }
  on.nodes = stated->nodes.value_or(on.nodes);
  d.job().all_reduce = large_all_reduce(on, stated->bus, spreads);
}

void read_table(JobDraft& d, MapReader& cluster, const NetworkSpreads& spreads) {
  const std::string name = cluster.text(kTable, "");
  if (name.empty()) return;
  const bool option = from_options(cluster.raw(kTable));
  const std::filesystem::path file = option ? std::filesystem::path(name) : d.beside_job(name);
  if (!d.files.has(file)) {
    return cluster.fault(
        kTable, in_quotes(name) + " is not a file",
        option ? "give the path relative to the current folder" : "give the path relative to the job");
  }
  topology::Cluster on = d.job().cluster;
  for (const int nodes : d.job().space.nodes) on.nodes = std::max(on.nodes, nodes);
  d.collect([&] {
    TableAllReduce read = all_reduce_of_table(d.files.text(file), file.string(), on, spreads);
    d.job().all_reduce = std::move(read.measured);
    d.reading.measured_row = std::move(read.at);
    for (std::string& note : read.notes) d.note(std::move(note));
  });
}

}  // namespace

void read_job_network(JobDraft& d, MapReader& cluster) {
  const char* key = stated_key(cluster);
  const topology::Instance& type = d.job().cluster.instance;
  if (key == nullptr || type.name.empty()) return;  // the type's own fault says so
  if (d.job().space.instances.size() > 1)
    return cluster.fault(key, "several types of machines are stated, and a measurement is of one",
                         "state one type");
  if (type.nics == 0)
    return cluster.fault(key, type.name + " has no network between nodes that is known", "leave it out");
  d.reading.places[std::string("cluster.") + key] = cluster.raw(key)->at;
  d.collect([&] {
    const NetworkSpreads spreads = network_spreads_from(*d.catalog.document("measuring.json"));
    key == kNumber ? read_number(d, cluster, spreads) : read_table(d, cluster, spreads);
  });
}

}  // namespace trnplan::io
