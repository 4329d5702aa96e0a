// Rules for a job after a failure, by scheduler. One rule a scheduler; simulate_cluster() asks it and knows
// none by name.
//
// Slurm (SchedMD/slurm@284c3b95; JobRequeue and --requeue, doc/man/man5/slurm.conf.5, doc/man/man1/sbatch.1):
//   A node that is silent for SlurmdTimeout goes DOWN, and a batch job that may be requeued is
//   (src/slurmctld/job_mgr.c, foreach_kill_running_job_by_node_ptr). All of its nodes are released; it gets a
//   new submit time and may start after requeue_delay + 1 s (batch_requeue_fini), with its priority, whose age
//   counts anew (src/plugins/priority/multifactor/priority_multifactor.c). A job starts when all of its nodes
//   are free. MaxBatchRequeue holds jobs for failures of launching alone (_handle_requeue_limit), and
//   RequeueExit requeues by exit code; neither is met here, since the batch script requeues its job itself
//   after a failure of a process, as long as SLURM_RESTART_COUNT, which also counts lost nodes, is below
//   TRNPLAN_RESTARTS (launch/folder/templates/train.sbatch.in, settings.env.in).
// Kubernetes (kubernetes/website@0d163067:content/en/docs/concepts/scheduling-eviction/taint-and-toleration.md,
// kubeflow/training-operator@63728861:pkg/controller.v1/common/pod.go, job.go):
//   Pods stay on their nodes. A node is unreachable when it has been silent for NodeMonitorGracePeriod
//   (kubernetes/kubernetes@0d173114:pkg/controller/nodelifecycle/config/v1alpha1/defaults.go); its pods are
//   evicted tolerationSeconds later, and the operator makes new ones where a node is free. Containers start
//   again in place (OnFailure), at once the first time, then after 10 s, doubled up to 300 s, until they have
//   run for 10 minutes (kubernetes/website@3842a284:content/en/docs/concepts/workloads/pods/pod-lifecycle.md).
//   No backoffLimit is set by the manifests of training
//   (io/output/emit_kubernetes.cpp), so restarts are not limited. Without gang scheduling a job takes free
//   nodes one by one.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "units/quantity.h"

namespace trnplan::planner {

/// Time of training after which failures no longer count as one after the other.
inline constexpr Seconds kRanWell{600};

/// A failure of a job, as its scheduler meets it.
struct Failure {
  bool node = false;  ///< another node is needed
  int in_a_row = 0;   ///< failures before it without kRanWell of training between
};

/// Settings of a scheduler.
struct RequeueSettings {
  Seconds node_timeout{};  ///< from the loss of a node until the scheduler takes it for lost
  Seconds delay{};         ///< before a job that failed may start again
  std::optional<int>
      restarts;  ///< after which a failure that lost no node waits for a person; none: no limit
};

class RequeueRule {
 public:
  explicit RequeueRule(const RequeueSettings& settings) : settings_(settings) {}
  virtual ~RequeueRule() = default;

  /// Nodes of a failed job that are whole stay with it. If false, it gives all back, and waits until as many
  /// as it needs are free at once.
  [[nodiscard]] virtual bool keeps_nodes() const = 0;
  /// Time from a failure until the scheduler acts. `detection`: until the job itself has found it.
  [[nodiscard]] virtual Seconds noticed(const Failure& failure, Seconds detection) const = 0;
  /// Time from then until the job may take nodes.
  [[nodiscard]] virtual Seconds delay(const Failure& failure) const = 0;

  [[nodiscard]] const RequeueSettings& settings() const { return settings_; }

 private:
  RequeueSettings settings_;
};

/// A scheduler by its name, with its defaults.
struct SchedulerKind {
  std::string_view name;  ///< "slurm"
  RequeueSettings defaults;
  std::unique_ptr<RequeueRule> (*make)(const RequeueSettings& settings);
};
[[nodiscard]] const std::vector<SchedulerKind>& scheduler_kinds();

}  // namespace trnplan::planner
