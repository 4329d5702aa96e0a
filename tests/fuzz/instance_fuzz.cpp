// An instance type of the catalogue, and its chip graph.
#include "io/catalog/instance_reader.h"

#include <cmath>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"
#include "topology/chip_graph.h"
#include "topology/rank_order.h"
#include "topology/verdict.h"

using namespace trnplan;

namespace {

constexpr int kChipsJudged = 64;  ///< larger fabrics are sound or not in the same way, and cost seconds

void check(const topology::Instance& t) {
  fuzz::ensure(t.chips >= 1 && t.cores_per_chip >= 1 && t.cores() >= 1, "an instance has cores");
  fuzz::ensure(t.core.memory.value > 0 && t.core.hbm.value > 0 && t.core.bf16.value > 0, "a core has rates");
  for (const topology::Link& l : t.links) {
    const int most = t.chips + t.switches;
    fuzz::ensure(l.chip_a >= 0 && l.chip_a < most && l.chip_b >= 0 && l.chip_b < most, "a link has two ends");
    fuzz::ensure(t.rate_of(l).value > 0, "a link has a rate");
  }
  fuzz::ensure(t.nics == 0 || t.nic_of_chip.size() == static_cast<std::size_t>(t.chips), "chips have a NIC");
  for (const int nic : t.nic_of_chip) fuzz::ensure(nic >= 0 && nic < t.nics, "a chip's NIC is there");
  fuzz::ensure(std::isfinite(t.usd_per_hour()) && t.usd_per_hour() >= 0, "a price is a number");
}

void judge(const topology::Instance& t) {
  const topology::Cluster cluster{t, 1};
  const topology::ChipGraph graph(t);
  const topology::Degrees degrees{1, 1, t.cores(), 1};
  if (!topology::RankOrder::obstacle(cluster, degrees).empty()) return;
  topology::judge_all(cluster, graph, topology::RankOrder(cluster, degrees));
}

}  // namespace

void fuzz::instance_target(const std::uint8_t* data, std::size_t size) {
  fuzz::refusable([&] {
    const topology::Instance t =
        io::instance_from(parse_document(fuzz::text_of(data, size), "instance.json"));
    check(t);
    if (t.chips + t.switches <= kChipsJudged && t.cores() <= 4 * kChipsJudged) judge(t);
  });
}
