// The reliability file, and its consequences for a run.
#include "io/catalog/reliability.h"

#include <cmath>

#include "planner/cost/goodput.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

using namespace trnplan;

namespace {

bool is_share(double x) {
  return std::isfinite(x) && x >= 0 && x <= 1;
}

}  // namespace

void fuzz::reliability_target(const std::uint8_t* data, std::size_t size) {
  fuzz::refusable([&] {
    const planner::Reliability r =
        io::reliability_from(parse_document(fuzz::text_of(data, size), "reliability.json"));
    for (const models::Value& v : r.values)
      fuzz::ensure(std::isfinite(v.median) && v.median >= 0 && std::isfinite(v.log_sd) && v.log_sd >= 0,
                   "a parameter is a number with a spread");
    for (const planner::PublishedUptime& p : r.published)
      fuzz::ensure(p.uptime > 0 && p.uptime <= 1 && p.nodes >= 1, "an uptime is a share of nodes' time");
    planner::RunShape run;
    run.nodes = 16;
    run.step = Seconds(10);
    run.checkpoint = Bytes(1e12);
    run.work = Seconds(1e6);
    for (const bool asynchronous : {false, true}) {
      run.asynchronous = run.spot = asynchronous;
      const planner::FailureModel m = planner::failure_model(r, run);
      fuzz::ensure(is_share(planner::uptime(m)), "uptime is a share");
      const int steps = planner::best_steps(m, run.step);
      fuzz::ensure(steps >= 1, "checkpoints are whole steps apart");
      fuzz::ensure(is_share(planner::goodput(m, run.step * steps)), "goodput is a share");
    }
  });
}
