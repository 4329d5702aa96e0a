#include "launch/slurm/partition.h"

#include <fmt/format.h>

#include "io/input/cluster_files.h"
#include "io/output/emit_cluster.h"
#include "text/document.h"

namespace trnplan::launch {

namespace fs = std::filesystem;

namespace {

/// Partition that sinfo marks as the default.
std::string default_partition(const std::string& table) {
  const std::size_t star = table.find("*\n");
  if (star == std::string::npos) return "";
  const std::size_t blank = table.find_last_of(" \n", star);
  return table.substr(blank + 1, star - blank - 1);
}

class Table : public Files {
 public:
  explicit Table(const std::string& text) : text_(text) {}
  bool has(const fs::path&) const override { return true; }
  std::string text(const fs::path&) const override { return text_; }

 private:
  const std::string& text_;
};

void compare_instance(const CheckedFolder& checked, const io::ClusterReading& found) {
  if (found.instance.empty()) {
    checked.notes.push_back(
        "sinfo names no instance type for these nodes, so it was not compared with the plan's");
    return;
  }
  const std::string have = io::machine_type(checked.catalog.instance(found.instance)),
                    need = io::machine_type(checked.plan->job.cluster.instance);
  if (have != need) {
    checked.fault("sinfo", "", fmt::format("the nodes are {}, the plan is for {}", have, need),
                  fmt::format("plan for {}, or set TRNPLAN_PARTITION in settings.env", have));
  }
}

void compare_cluster(const CheckedFolder& checked, const std::string& table) {
  const std::string partition = checked.settings.value("TRNPLAN_PARTITION");
  const std::string wanted = partition.empty() ? default_partition(table) : partition;
  try {
    const io::ClusterReading found = io::read_sinfo("sinfo", checked.catalog, wanted, Table(table));
    for (const std::string& note : found.notes) checked.notes.push_back(note);
    const topology::Cluster& cluster = checked.plan->job.cluster;
    const int needed = cluster.hosts();
    if (found.hosts == 0) {
      checked.fault(
          "sinfo", "",
          fmt::format("no node of partition {} is usable, the plan needs {}", printable(found.group), needed),
          "set TRNPLAN_PARTITION in settings.env, or repair nodes: sinfo -R says why they are down");
    } else if (found.hosts < needed) {
      const int fewer = found.hosts / cluster.instance.hosts;
      checked.fault("sinfo", "",
                    fmt::format("partition {} has {} usable nodes, the plan needs {}", printable(found.group),
                                found.hosts, needed),
                    "set TRNPLAN_PARTITION in settings.env, repair nodes" +
                        (fewer > 0 ? fmt::format(", or plan with --nodes {}", fewer) : ""));
    }
    if (cluster.instance.hosts > 1) {
      checked.notes.push_back(fmt::format(
          "the job needs {}, and sinfo does not show which of them form whole nodes: see README.md, Hosts",
          io::hosts_text(cluster)));
    }
    compare_instance(checked, found);
  } catch (const InputError& e) {
    checked.faults.insert(checked.faults.end(), e.faults().begin(), e.faults().end());
  }
}

/// Last line of what a program printed, which says why it ended.
std::string last_line(std::string_view printed) {
  while (printed.ends_with('\n')) printed.remove_suffix(1);
  return printable(printed.substr(printed.find_last_of('\n') + 1));
}

}  // namespace

void check_partition(const CheckedFolder& checked) {
  if (const ProcessResult sbatch = checked.runner({"sbatch", "--version"}, kQuery); !sbatch.started) {
    return checked.fault("command line", "--scheduler", "there is no sbatch here: " + sbatch.error,
                         "run this on the head node of the Slurm cluster, or use --scheduler local");
  }
  std::vector<std::string> command = {"sinfo", "-N", "-o", "%N %t %f %P"};
  const std::string partition = checked.settings.value("TRNPLAN_PARTITION");
  if (!partition.empty()) command.insert(command.begin() + 1, "--partition=" + partition);
  const ProcessResult sinfo = checked.runner(command, kQuery);
  if (!sinfo.ok()) {
    return checked.fault("sinfo", "",
                         "failed: " + last_line(sinfo.error.empty() ? sinfo.output : sinfo.error),
                         "start Slurm's controller, or correct its address in slurm.conf");
  }
  const std::size_t header = sinfo.output.find('\n');
  if (!partition.empty() && (header == std::string::npos || header + 1 >= sinfo.output.size())) {
    return checked.fault("sinfo", "TRNPLAN_PARTITION",
                         fmt::format("there is no partition {}, or it has no nodes", printable(partition)),
                         "set it in settings.env, or in the environment, to one that sinfo -s lists");
  }
  compare_cluster(checked, sinfo.output);
}

}  // namespace trnplan::launch
