#include "planner/cluster/requeue.h"

#include <algorithm>
#include <cmath>

namespace trnplan::planner {

namespace {

class SlurmRule : public RequeueRule {
 public:
  using RequeueRule::RequeueRule;

  [[nodiscard]] bool keeps_nodes() const override { return false; }
  /// A lost node ends the step's other processes too, so whichever sees it first counts.
  [[nodiscard]] Seconds noticed(const Failure& failure, Seconds detection) const override {
    return failure.node ? std::min(detection, settings().node_timeout) : detection;
  }
  [[nodiscard]] Seconds delay(const Failure&) const override { return settings().delay; }
};

/// Longest pause between restarts of a container, and the number of doublings that certainly reach it.
constexpr Seconds kLongestBackOff{300};
constexpr int kMostDoublings = 30;

class KubernetesRule : public RequeueRule {
 public:
  using RequeueRule::RequeueRule;

  [[nodiscard]] bool keeps_nodes() const override { return true; }
  /// The other pods wait until the pod of the lost node is made anew.
  [[nodiscard]] Seconds noticed(const Failure& failure, Seconds detection) const override {
    return failure.node ? std::max(detection, settings().node_timeout) : detection;
  }
  [[nodiscard]] Seconds delay(const Failure& failure) const override {
    if (failure.in_a_row == 0) return {};
    const int doublings = std::min(failure.in_a_row - 1, kMostDoublings);
    return std::min(std::ldexp(1.0, doublings) * settings().delay,
                    std::max(kLongestBackOff, settings().delay));
  }
};

template <class Rule>
std::unique_ptr<RequeueRule> make_rule(const RequeueSettings& settings) {
  return std::make_unique<Rule>(settings);
}

}  // namespace

const std::vector<SchedulerKind>& scheduler_kinds() {
  // Slurm: SlurmdTimeout 300 s, requeue_delay 120 s and 1 s more, TRNPLAN_RESTARTS 3. Kubernetes:
  // NodeMonitorGracePeriod 40 s and tolerationSeconds 300.
  static const std::vector<SchedulerKind> kinds{
      {"slurm", {Seconds(300), Seconds(121), 3}, &make_rule<SlurmRule>},
      {"kubernetes", {Seconds(340), Seconds(10), std::nullopt}, &make_rule<KubernetesRule>}};
  return kinds;
}

}  // namespace trnplan::planner
