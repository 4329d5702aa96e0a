#include "topology/instance.h"

namespace trnplan::topology {

double Instance::usd_per_hour() const {
  for (const Price& p : prices) {
    if (p.kind == "on_demand") return p.usd_per_hour;
  }
  return prices.empty() ? 0.0 : prices.front().usd_per_hour;
}

}  // namespace trnplan::topology
