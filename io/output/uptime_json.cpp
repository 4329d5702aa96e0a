// Published uptimes with predicted ones, as JSON.
#include "io/output/described.h"
#include "io/output/json_tree.h"
#include "io/output/whatif_json.h"
#include "planner/cost/whatif.h"

namespace trnplan::io {

using planner::CheckedUptime;
using planner::GoodputEstimate;
using planner::PublishedUptime;
using planner::UptimeCheck;

namespace {

std::vector<double> list_of(const planner::Interval& i) {
  return {i.low, i.high};
}

struct ShownUptimes {
  std::string reliability, profile;
  const std::vector<CheckedUptime>* rows;
};

}  // namespace

template <>
const Record<CheckedUptime>& record() {
  const auto published = [](auto get) { return path(&CheckedUptime::published, get); };
  const auto checked = [](auto get) { return path(&CheckedUptime::check, get); };
  const auto estimated = [&](auto get) { return checked(path(&UptimeCheck::estimate, get)); };
  static const Record<CheckedUptime> described(
      "Uptime", "A published uptime with the predicted one.",
      {{"id", published(&PublishedUptime::id)},
       {"nodes", published(&PublishedUptime::nodes)},
       {"recovery", published([](const PublishedUptime& p) -> std::string_view {
          return p.automatic ? "automatic" : "manual";
        }),
        "`automatic` or `manual`"},
       {"published_uptime", published(&PublishedUptime::uptime)},
       {"predicted_uptime", estimated(&GoodputEstimate::uptime)},
       {"uptime_90", estimated([](const GoodputEstimate& g) { return list_of(g.uptime_90); })},
       {"predicted_goodput", estimated(&GoodputEstimate::goodput)},
       {"goodput_90", estimated([](const GoodputEstimate& g) { return list_of(g.goodput_90); })},
       {"step_seconds", checked(&UptimeCheck::step)},
       {"checkpoint_bytes", checked(&UptimeCheck::checkpoint)},
       {"checkpoint_interval_seconds", estimated(&GoodputEstimate::interval)},
       {"mtbf_seconds", estimated([](const GoodputEstimate& g) { return g.model.mtbf; })},
       {"recovery_seconds", estimated([](const GoodputEstimate& g) { return g.model.mean_recovery(); })},
       {"implied_failures_per_node_day", checked([](const UptimeCheck& c) { return finite(c.implied_rate); }),
        "the rate at which the medians would give the published uptime"},
       {"source", published(&PublishedUptime::source)}});
  return described;
}

template <>
const Record<ShownUptimes>& record() {
  static const Record<ShownUptimes> described("GoodputValidation", "Published uptimes with predicted ones.",
                                              {{"reliability", &ShownUptimes::reliability},
                                               {"profile", &ShownUptimes::profile},
                                               {"rows", [](const ShownUptimes& u) { return *u.rows; }}});
  return described;
}

std::string uptime_json(const std::vector<CheckedUptime>& rows, const std::string& reliability,
                        const std::string& profile) {
  return document_of(ShownUptimes{reliability, profile, &rows});
}

const Description& uptime_document() {
  return record<ShownUptimes>().description();
}

}  // namespace trnplan::io
