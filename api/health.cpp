#include "api/health.h"

#include <cmath>
#include <map>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/collective.h"
#include "io/catalog/catalog.h"
#include "logs/nccom/node_tests.h"
#include "models/collective/collective_timing.h"
#include "text/diagnostic.h"
#include "text/document.h"
#include "topology/chip_graph.h"

namespace trnplan::api {

namespace {

/// Times collectives on as many nodes as a run has.
class Timers {
 public:
  Timers(topology::Instance instance, double oversubscription, const models::Profile& profile)
      : instance_(std::move(instance)),
        oversubscription_(oversubscription),
        profile_(profile),
        graph_(instance_) {}

  launch::Prediction predict(int nodes, const models::CollectiveRun& run, const SourcePos& at) {
    const int cores = instance_.cores() * nodes;
    if (run.ranks < 2 || run.ranks > cores || run.ranks % nodes != 0) {
      throw InputError({at, "-r",
                        fmt::format("{} ranks on {} node{} of {} {}s ({})", run.ranks, nodes,
                                    nodes == 1 ? "" : "s", instance_.cores(),
                                    topology::device_word(instance_.traits.accelerator), instance_.name),
                        "state the type of the nodes with --instance"});
    }
    const models::CollectiveTiming t = timer(nodes).time(run);
    const double low = t.nccom_seconds_90.low.value, high = t.nccom_seconds_90.high.value;
    if (!std::isfinite(high) || !(high > 0)) {
      throw InputError({at, "size(B)",
                        fmt::format("there is no prediction for {:.6g} bytes", run.bytes.value),
                        "measure sizes from 1 MiB to 1 GiB"});
    }
    return {t.nccom_seconds.value, {low, high}};
  }

 private:
  struct Timer {
    topology::Cluster cluster;
    models::CollectiveTimer timer;
    Timer(const topology::Cluster& c, const topology::ChipGraph& graph, const models::Profile& profile)
        : cluster(c), timer(cluster, graph, profile, true) {}
  };

  const models::CollectiveTimer& timer(int nodes) {
    auto& one = timers_[nodes];
    if (!one) {
      topology::Cluster cluster{instance_, nodes};
      cluster.oversubscription = oversubscription_;
      one = std::make_unique<Timer>(cluster, graph_, profile_);
    }
    return one->timer;
  }

  topology::Instance instance_;
  double oversubscription_;
  const models::Profile& profile_;
  topology::ChipGraph graph_;
  std::map<int, std::unique_ptr<Timer>> timers_;
};

/// Runs of one file.
std::vector<logs::NodeTest> tests_of(const std::string& file, models::CollectiveOp op) {
  std::vector<logs::NodeTest> tests = logs::read_node_tests(read_text(file), file);
  for (const logs::NodeTest& test : tests) {
    if (!test.table || test.table->op.empty() || models::collective_op(test.table->op) == op) continue;
    throw InputError({test.at, "op",
                      fmt::format("a run of {}, to be compared with {}", test.table->op, to_string(op)),
                      fmt::format("trnplan collective {} --measured ...", test.table->op)});
  }
  return tests;
}

}  // namespace

io::HealthReport health(const HealthRequest& r, Remarks& remarks) {
  const models::CollectiveOp op = read_collective_op(r.op);
  const io::Catalog catalog = io::Catalog::standard();
  const topology::Instance instance = load_instance(catalog, r.instance);
  const models::Profile profile = load_profile_for(catalog, r.profile, !r.profile.empty(), instance, remarks);
  remark_family(catalog, profile, instance, remarks);
  std::vector<logs::NodeTest> tests;
  std::vector<Diagnostic> unread;
  for (const std::string& file : r.measured) {
    for (logs::NodeTest& test : tests_of(file, op)) {
      const std::string why = launch::not_understood(test);
      if (why.empty())
        tests.push_back(std::move(test));
      else
        unread.push_back(
            {test.at, "[trnplan] nodes",
             fmt::format("the output of {} was not understood: {}", fmt::join(test.nodes, ", "), why),
             "give what nccom-test printed, with its command line; a table of nccl-tests is compared by "
             "trnplan calibrate FILE --instance TYPE"});
    }
  }
  if (tests.empty()) throw InputError(std::move(unread));
  for (Diagnostic& left_out : unread) remarks.add(std::move(left_out));
  Timers timers(instance, r.oversubscription, profile);
  io::HealthReport report = launch::judge_health(
      tests, r.factor, [&](int nodes, const models::CollectiveRun& run, const SourcePos& at) {
        return timers.predict(nodes, run, at);
      });
  report.instance = instance.name;
  report.profile = profile.name;
  return report;
}

}  // namespace trnplan::api
