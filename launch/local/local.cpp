#include "launch/local/local.h"

#include <fmt/format.h>

#include "io/input/plan_file.h"
#include "io/output/emit_cluster.h"

namespace trnplan::launch {

namespace fs = std::filesystem;

namespace {

std::vector<std::string> local_command(const Order& order) {
  const fs::path& folder = order.folder;
  std::vector<std::string> command = {"bash", (folder / "node_run.sh").string(), folder.string()};
  if (modes_of(order.held).size() > 1) command.emplace_back("compile");
  command.emplace_back("smoke");
  return command;
}

class Local : public Scheduler {
 public:
  std::string_view name() const override { return "local"; }
  std::string_view remark() const override { return ": a smoke test of a few steps on this node"; }
  bool runs_on(const topology::Instance& machine, const planner::Target&) const override {
    return machine.hosts == 1;
  }
  bool keeps_record() const override { return false; }
  bool is_job_id(const std::string&) const override { return false; }

  void check(const CheckedFolder& checked) const override {
    if (checked.plan == nullptr || checked.plan->job.cluster.hosts() <= 1) return;
    const topology::Cluster& cluster = checked.plan->job.cluster;
    if (cluster.instance.hosts > 1) {
      return checked.fault((checked.order.folder / io::kPlanFile).string(), "strategy.nodes",
                           fmt::format("the plan needs {}, and this is one", io::hosts_text(cluster)),
                           "submit it to Slurm: leave --scheduler out");
    }
    checked.fault((checked.order.folder / io::kPlanFile).string(), "strategy.nodes",
                  fmt::format("the plan needs {} nodes, and this is one", checked.plan->job.cluster.nodes),
                  "plan with --nodes 1 for a smoke test");
  }

  std::vector<std::vector<std::string>> commands(const Order& order) const override {
    return {local_command(order)};
  }

  SubmitResult submit(const Order& order, const std::optional<Submission>&, int,
                      const Runner& runner) const override {
    ProcessOptions options;
    options.capture = false;
    // Otherwise the node script could take this for a task of the allocation it runs in.
    options.unset = {"SLURM_JOB_ID", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PET_RDZV_BACKEND"};
    order.held.need_unchanged();
    const ProcessResult ran = runner(local_command(order), options);
    if (!ran.ok()) throw SchedulerRefused(fmt::format("node_run.sh ended with {}", ran.code));
    return {{std::string(name()), {}, {}}, false};
  }
};

}  // namespace

const Scheduler& local() {
  static const Local scheduler;
  return scheduler;
}

}  // namespace trnplan::launch
