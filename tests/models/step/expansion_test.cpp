// A collective as coflows, compared with the same collective message by message, for every algorithm.
#include <algorithm>
#include <bit>
#include <cmath>

#include "models/collective/collective.h"
#include "models/collective/collective_memory.h"
#include "models/collective/neuron_algorithms.h"
#include "models/collective/neuron_parameters.h"
#include "models/device/neuron_core_parameters.h"
#include "sim/executor.h"
#include "tests/catch.h"
#include "tests/models/fabric_bed.h"
#include "tests/sim/random_flows.h"

using namespace trnplan;
using namespace trnplan::models;

namespace {

constexpr CollectiveOp kOps[] = {CollectiveOp::all_gather, CollectiveOp::reduce_scatter,
                                 CollectiveOp::all_reduce, CollectiveOp::all_to_all,
                                 CollectiveOp::permute,    CollectiveOp::send_recv};

struct ExpansionBed : FlatBed {
  using FlatBed::FlatBed;
  explicit ExpansionBed(int nodes) : FlatBed("trn1.32xlarge", nodes) {}

  /// `local` cores of each node.
  std::vector<int> group(const std::vector<int>& local) const {
    std::vector<int> ranks;
    for (int n = 0; n < cluster.nodes; ++n) {
      for (const int c : local) ranks.push_back(n * cluster.instance.cores() + c);
    }
    return ranks;
  }
};

std::int64_t ticks(Seconds s) {
  return to_sim_time(s).ps;
}

struct Compared {
  std::int64_t coflow = 0, messages = 0, steps = 0;
  std::int64_t flight = 0;  ///< of a flat ring between nodes: what may overlap the transfers
  std::string algorithm;
  /// To a tick a step; a flat ring between nodes may be faster than its coflow by the time in flight.
  bool agree() const { return messages <= coflow + steps + 1 && messages >= coflow - flight - steps - 1; }
};

Compared compare(const ExpansionBed& bed, CollectiveOp op, const std::vector<std::vector<int>>& groups,
                 double bytes, Algorithm algorithm) {
  const Collective c = collective(bed.fabric, op, groups, Bytes(bytes), algorithm);
  Compared r;
  r.algorithm = c.algorithm;
  r.coflow = ticks(c.seconds(bed.fabric)) - ticks(c.alpha);
  const double more = bed.profile[neuron::efa_latency] - bed.profile[neuron::hop_latency];
  for (const Phase& p : c.phases) {
    r.steps += p.steps;
    const bool mixed = p.hops.value > 0 && p.network.value > 0;
    if (mixed && bytes > 0) r.flight += bed.cluster.nodes * ticks(Seconds(std::abs(more)));
  }
  r.messages =
      sim::run_exchanges(bed.fabric.capacities(), expand(bed.fabric, op, groups, Bytes(bytes), algorithm))
          .end.ps;
  return r;
}

/// Part of the name of what must run when `a` is asked for; empty when it cannot run on the group.
std::string expected_name(const ExpansionBed& bed, CollectiveOp op, const std::vector<int>& local,
                          Algorithm a) {
  if (op == CollectiveOp::all_to_all) return "mesh";
  if (op == CollectiveOp::permute || op == CollectiveOp::send_recv) return "permute";
  const topology::Instance& i = bed.cluster.instance;
  std::vector<int> cores(static_cast<std::size_t>(i.chips), 0);
  for (const int c : local) ++cores[static_cast<std::size_t>(i.chip_of(c))];
  const auto chips = local.size() > 1 ? i.chips - std::count(cores.begin(), cores.end(), 0) : 1;
  const int most = *std::max_element(cores.begin(), cores.end());
  const bool even = static_cast<std::size_t>(chips * most) == local.size(), many = bed.cluster.nodes > 1;
  if (a == neuron::ring || a == neuron::flat_ring)
    return many || a == neuron::flat_ring ? "flat-ring" : "ring";
  if (a == neuron::kangaring) return even && most == i.cores_per_chip && chips > 1 ? "kangaring" : "";
  if (a == neuron::mesh) return "mesh";
  if (a == neuron::halving_doubling) return even && std::has_single_bit(local.size()) ? "rdh" : "";
  if (a == neuron::one_step) return op == CollectiveOp::all_reduce ? "one-step" : "mesh";
  if (a == neuron::hierarchical) return many && local.size() > 1 ? "hierarchical" : "";
  if (a == neuron::torus) return even && most == 1 && chips == i.chips && i.torus_rows > 1 ? "torus" : "";
  return "";
}

}  // namespace

TEST_CASE("uncontended, messages and coflow agree within a tick a step, 2 to 64 ranks, every algorithm",
          "[models][collective][differential]") {
  int compared = 0;
  for (const int nodes : {1, 2, 4}) {
    const ExpansionBed bed(nodes);
    std::vector<std::vector<int>> groups = trn1_groups();
    groups.push_back(first(32));
    for (const std::vector<int>& local : groups) {
      const int ranks = nodes * static_cast<int>(local.size());
      if (ranks < 2 || ranks > 64) continue;
      for (const CollectiveOp op : kOps) {
        for (const Algorithm a : kAlgorithms) {
          for (const double bytes : {0.0, 64.0, 3e6}) {
            const Compared r = compare(bed, op, {bed.group(local)}, bytes, a);
            CAPTURE(nodes, ranks, to_string(op), r.algorithm, bytes, r.coflow, r.messages, r.steps);
            CHECK(r.agree());
            CHECK(r.algorithm.find(expected_name(bed, op, local, a)) != std::string::npos);
            ++compared;
          }
        }
      }
    }
  }
  CHECK(compared > 3000);
}

TEST_CASE("a torus of single-core chips, every algorithm", "[models][collective][differential]") {
  for (const auto& [rows, columns] : {std::pair(4, 4), std::pair(3, 5)}) {
    const ExpansionBed bed(torus_cluster(rows, columns));
    for (const CollectiveOp op : kOps) {
      for (const Algorithm a : kAlgorithms) {
        for (const double bytes : {0.0, 6e6}) {
          const std::vector<int> world = first(rows * columns);
          const Compared r = compare(bed, op, {world}, bytes, a);
          CAPTURE(rows, columns, to_string(op), to_string(a), r.algorithm, bytes, r.coflow, r.messages);
          CHECK(r.agree());
          CHECK(r.algorithm.find(expected_name(bed, op, world, a)) != std::string::npos);
        }
      }
    }
  }
}

TEST_CASE("nodes that do the same are run as one, to the tick of every message",
          "[models][collective][differential]") {
  int folded = 0;
  for (const int nodes : {2, 3, 4}) {
    const ExpansionBed bed(nodes);
    for (const std::vector<int>& local : std::vector<std::vector<int>>{{0}, first(8), first(32)}) {
      for (const CollectiveOp op : kOps) {
        for (const Algorithm a : kAlgorithms) {
          const auto exchanges = expand(bed.fabric, op, {bed.group(local)}, Bytes(3e6), a);
          const auto capacity = bed.fabric.capacities();
          const sim::ExchangeRun together = sim::run_exchanges(capacity, exchanges),
                                 apart = sim::run_exchanges(capacity, exchanges, sim::Folding::never);
          CAPTURE(nodes, local.size(), to_string(op), to_string(a));
          CHECK(together.end == apart.end);
          CHECK(together.messages == apart.messages);
          CHECK(together.digest == apart.digest);
          folded += together.events < apart.events;
          if (a == neuron::flat_ring && local.size() > 1 && op == CollectiveOp::all_reduce)
            CHECK(together.events < apart.events);
        }
      }
    }
  }
  CHECK(folded > 50);
}

// Profiles that differ in every rate and latency, with thresholds of algorithms among them.
TEST_CASE("remembered loads are those described anew", "[models][collective][property]") {
  sim::testing::Random random(11);
  const ExpansionBed bed(4);
  CollectiveMemory memory;
  int known = 0;
  for (int round = 0; round < 400; ++round) {
    Profile profile = bed.profile;
    for (const Parameter p : {neuron::hop_latency, neuron::efa_latency, neuron::link_fraction,
                              neuron::dma_fraction, neuron::efa_fraction, neuron::in_graph_alpha})
      profile.value(p).median *= random.real(0.5, 2);
    if (round % 50 == 0) profile.algorithms.mesh_below = Bytes(random.real(0, 1e7));
    const Fabric anew(bed.cluster, bed.graph, bed.placement, profile),
        remembering(bed.cluster, bed.graph, bed.placement, profile, &memory);
    const CollectiveOp op = kOps[random.whole(0, 5)];
    const std::vector<std::vector<int>> groups{bed.group(first(1 << random.whole(0, 5))), bed.group({0, 9})};
    const double bytes = random.whole(0, 3) * 2.5e6;
    const Collective a = collective(anew, op, groups, Bytes(bytes)),
                     b = collective(remembering, op, groups, Bytes(bytes));
    CAPTURE(round, to_string(op), bytes);
    CHECK(a.algorithm == b.algorithm);
    CHECK(a.alpha == b.alpha);
    REQUIRE(a.phases.size() == b.phases.size());
    for (std::size_t i = 0; i < a.phases.size(); ++i) {
      CHECK(a.phases[i].load == b.phases[i].load);
      CHECK(a.phases[i].scale == b.phases[i].scale);
      CHECK(a.phases[i].steps == b.phases[i].steps);
      CHECK(a.phases[i].hops == b.phases[i].hops);
      CHECK(a.phases[i].network == b.phases[i].network);
      ++known;
    }
  }
  CHECK(known > 400);
}

// 4 and 2 nodes of a row each: l = 8, N = 32 and 16. A chunk of the ring crosses k links between nodes and
// N - 1 - k inside; of two nodes of one core each, k = 2, it crosses N - 1 = 1. Where the link between nodes
// is the quicker one, the longest way leaves one of those out.
TEST_CASE("the latency of a flat ring is that of a chunk's way", "[models][collective]") {
  for (const bool inverted : {false, true}) {
    for (const int nodes : {2, 4}) {
      ExpansionBed bed(nodes);
      const double hop = inverted ? 20e-6 : 1e-6, efa = inverted ? 3e-6 : 15e-6;
      bed.profile.value(neuron::hop_latency).median = hop;
      bed.profile.value(neuron::efa_latency).median = efa;
      const Fabric fabric(bed.cluster, bed.graph, bed.placement, bed.profile);
      const auto latency = [&](const std::vector<int>& local) {
        const Collective c =
            collective(fabric, CollectiveOp::all_gather, {bed.group(local)}, Bytes(0), neuron::flat_ring);
        const auto run = sim::run_exchanges(
            fabric.capacities(),
            expand(fabric, CollectiveOp::all_gather, {bed.group(local)}, Bytes(0), neuron::flat_ring));
        CHECK(run.end.ps == ticks(c.latency() - c.alpha));
        return (c.latency() - c.alpha).value;
      };
      const int crossed = inverted ? nodes - 1 : nodes, ranks = 8 * nodes;
      CHECK(latency(first(8)) == Approx(crossed * efa + (ranks - 1 - crossed) * hop).epsilon(1e-12));
      CHECK(latency({0}) == Approx((nodes - 1) * efa).epsilon(1e-12));
    }
  }
}

// A pair inside a chip and a pair of nodes at once: whichever comes first, the longer latency counts.
TEST_CASE("groups of different shape: the longest latency", "[models][collective]") {
  const ExpansionBed bed(2);
  const auto latency = [&](const std::vector<std::vector<int>>& groups) {
    return collective(bed.fabric, CollectiveOp::all_gather, groups, Bytes(1e6), neuron::ring).latency();
  };
  const std::vector<int> chip{0, 1}, apart{2, 34};
  CHECK(latency({chip}) < latency({apart}));
  CHECK(latency({chip, apart}) == latency({apart}));
  CHECK(latency({apart, chip}) == latency({apart}));
}

// Groups that share links: the columns of both cores of every chip, all rows.
TEST_CASE("groups alike that share links: messages and coflows agree within a tick a step",
          "[models][collective][differential]") {
  const ExpansionBed bed(2);
  const auto tensor = [&](int degree) {
    std::vector<std::vector<int>> groups;
    for (int r = 0; r < bed.cluster.cores(); r += degree) {
      groups.push_back(first(degree));
      for (int& x : groups.back()) x += r;
    }
    return groups;
  };
  std::vector<std::vector<int>> columns;
  for (int c = 0; c < 8; ++c) columns.push_back(bed.group({c, c + 8, c + 16, c + 24}));
  for (const auto& groups : {tensor(8), columns}) {
    for (const CollectiveOp op : kOps) {
      for (const Algorithm a : kAlgorithms) {
        const Compared r = compare(bed, op, groups, 48e6, a);
        CAPTURE(to_string(op), r.algorithm, groups.size(), r.coflow, r.messages, r.steps);
        CHECK(r.agree());
      }
    }
  }
}

// Two collectives of different length that start at different times on the same links: the coflows in a
// program, the messages in an exchange.
TEST_CASE("collectives that overlap in part agree within one chunk's time",
          "[models][collective][differential]") {
  const ExpansionBed bed(1);
  sim::testing::Random random(20261121);
  for (int round = 0; round < 40; ++round) {
    const std::vector<int> row = first(8), column{0, 1, 8, 9, 16, 17, 24, 25},
                           other{2, 3, 10, 11, 18, 19, 26, 27};
    std::vector<sim::Exchange> exchanges;
    sim::Program program;
    for (const double c : bed.fabric.capacities()) program.add_resource("r", BytesPerSecond(c));
    std::int64_t chunk = 0;
    Profile quick = bed.profile;
    for (const Parameter p : {neuron::hop_latency, neuron::efa_latency}) quick.value(p).median = 1e-12;
    const Fabric fabric(bed.cluster, bed.graph, bed.placement, quick);
    for (const std::vector<int>& ranks : {row, column, row, other}) {
      const double bytes = 1e6 * random.whole(1, 60);
      const SimTime start{random.whole(0, 300) * 1'000'000};
      const Collective c =
          collective(fabric, CollectiveOp::all_gather, {ranks}, Bytes(bytes), neuron::kangaring);
      std::vector<sim::Weight> weights;
      for (const auto& [id, b] : c.phases[0].load) weights.push_back({id, b});
      program.add_transfer({}, program.add_flow(weights), start);
      exchanges.push_back(
          expand(fabric, CollectiveOp::all_gather, {ranks}, Bytes(bytes), neuron::kangaring)[0]);
      exchanges.back().start = start;
      // Four collectives share a link at most: a chunk takes at most four times as long as alone.
      chunk = std::max(chunk, 4 * ticks(c.transfer(fabric)) / c.phases[0].steps);
    }
    const sim::Run coflows = sim::execute(program);
    const sim::ExchangeRun messages = sim::run_exchanges(fabric.capacities(), exchanges);
    for (std::size_t i = 0; i < exchanges.size(); ++i) {
      CAPTURE(round, i, chunk);
      CHECK(std::abs(coflows.ended[i].ps - messages.ended[i].ps) <= chunk);
    }
  }
}

// In each round every rank sends as much as it receives, over all messages; of what crosses nodes as much
// leaves a NIC as comes to one. Each rank's memory is read (1 access a byte) by what it sends.
TEST_CASE("bytes sent are bytes received", "[models][collective][property]") {
  int messages = 0;
  for (const int nodes : {1, 2, 4}) {
    const ExpansionBed bed(nodes);
    for (const std::vector<int>& local : std::vector<std::vector<int>>{{0, 8}, first(8), first(32)}) {
      const std::vector<int> ranks = bed.group(local);
      for (const CollectiveOp op : kOps) {
        for (const Algorithm a : kAlgorithms) {
          const auto exchanges = expand(bed.fabric, op, {ranks}, Bytes(1e6), a);
          for (const sim::Round& round : exchanges[0].rounds) {
            std::vector<double> out(ranks.size(), 0), in(ranks.size(), 0);
            double nics_out = 0, nics_in = 0;
            for (const sim::Message& m : round.messages) {
              const int sender = ranks[m.from % ranks.size()];
              const Fabric::Id memory =
                  bed.fabric.memory(bed.placement.class_of_rank(sender), bed.placement.local_of(sender));
              double bytes = 0;
              for (const sim::Weight& w : m.flow.weights) {
                if (w.resource == memory) bytes = w.bytes;
                if (bed.fabric.kind(w.resource) == Fabric::Kind::nic_out) nics_out += w.bytes;
                if (bed.fabric.kind(w.resource) == Fabric::Kind::nic_in) nics_in += w.bytes;
              }
              CHECK(bytes > 0);
              out[m.from % ranks.size()] += bytes;
              in[m.to % ranks.size()] += bytes;
              ++messages;
            }
            CAPTURE(nodes, local.size(), to_string(op), to_string(a), nics_out, nics_in);
            CHECK(nics_out == Approx(nics_in).epsilon(1e-12));
            for (std::size_t r = 0; r < out.size(); ++r) CHECK(out[r] == Approx(in[r]).epsilon(1e-12));
          }
        }
      }
    }
  }
  CHECK(messages > 10000);
}

TEST_CASE("more bandwidth is never slower; all rates doubled halve the transfer",
          "[models][collective][property]") {
  sim::testing::Random random(3);
  int faster_links = 0;
  for (int round = 0; round < 200; ++round) {
    const ExpansionBed bed(random.whole(1, 4));
    const std::vector<int> ranks = bed.group(first(1 << random.whole(1, 5)));
    const auto op = kOps[random.whole(0, 5)];
    const auto a =
        kAlgorithms[static_cast<std::size_t>(random.whole(0, static_cast<int>(kAlgorithms.size()) - 1))];
    const double bytes = random.real(1, 1e8);
    const auto seconds = [&](const topology::Cluster& cluster, const Profile& profile) {
      const topology::ChipGraph graph(cluster.instance);
      const Fabric fabric(cluster, graph, bed.placement, profile);
      return collective(fabric, op, {ranks}, Bytes(bytes), a).transfer(fabric).value;
    };
    const double before = seconds(bed.cluster, bed.profile);
    topology::Cluster more = bed.cluster;
    topology::Instance& i = more.instance;
    const int kind = random.whole(0, 4);
    if (kind == 0) i.nic = i.nic * 1.5;
    if (kind == 1) i.core.dma = i.core.dma * 1.5;
    if (kind == 2) i.core.hbm = i.core.hbm * 1.5;
    if (kind == 3) i.link_per_direction = i.link_per_direction * 1.5;
    if (kind == 4) {  // one link of all
      topology::Link& link =
          i.links[static_cast<std::size_t>(random.whole(0, static_cast<int>(i.links.size()) - 1))];
      link.per_direction = i.rate_of(link) * 1.5;
    }
    const double after = seconds(more, bed.profile);
    faster_links += kind == 3 && after < before;
    CAPTURE(kind, before, after);
    CHECK(after <= before);
    CHECK(after >= before / 1.5 * (1 - 1e-12));
    Profile twice = bed.profile;
    for (const Parameter p :
         {neuron::link_fraction, neuron::dma_fraction, neuron::hbm_fraction, neuron::efa_fraction})
      twice.value(p).median *= 2;
    CHECK(seconds(more, twice) == Approx(after / 2).epsilon(1e-12));
  }
  CHECK(faster_links > 3);
}

// Nodes named otherwise, and chips shifted over the torus.
TEST_CASE("relabelled groups cost the same, as coflows and as messages", "[models][collective][property]") {
  const auto same = [](const ExpansionBed& bed, const std::vector<int>& one, const std::vector<int>& other) {
    for (const CollectiveOp op : kOps) {
      for (const Algorithm a : kAlgorithms) {
        const Compared x = compare(bed, op, {one}, 3e6, a), y = compare(bed, op, {other}, 3e6, a);
        CAPTURE(to_string(op), x.algorithm, one.size(), x.coflow, y.coflow, x.messages, y.messages);
        CHECK(x.algorithm == y.algorithm);
        CHECK(std::abs(x.coflow - y.coflow) <= x.steps);
        CHECK(std::abs(x.messages - y.messages) <= x.steps);
      }
    }
  };
  const ExpansionBed many(4);
  for (const std::vector<int>& local : std::vector<std::vector<int>>{{3}, first(8), {0, 8, 16, 24}}) {
    std::vector<int> other;
    for (const int node : {2, 0, 3, 1}) {
      for (const int c : local) other.push_back(node * 32 + c);
    }
    same(many, many.group(local), other);
  }
  const ExpansionBed one(1);
  for (const std::vector<int>& local :
       std::vector<std::vector<int>>{{0, 1}, {0, 8}, first(8), {0, 2, 4, 6}, {0, 8, 16, 24}, first(16)}) {
    for (const auto& [rows, columns] : {std::pair(1, 0), std::pair(0, 1), std::pair(2, 3)}) {
      std::vector<int> other;
      for (const int c : local) {
        const int chip = c / 2, row = (chip / 4 + rows) % 4, column = (chip % 4 + columns) % 4;
        other.push_back((row * 4 + column) * 2 + c % 2);
      }
      std::sort(other.begin(), other.end());
      same(one, one.group(local), other);
    }
  }
}

// One node for all that are alike, against every node of its own.
TEST_CASE("nodes that do the same cost one", "[models][collective][differential]") {
  for (const int nodes : {2, 3, 8}) {
    const ExpansionBed bed(nodes);
    const topology::Placement one = topology::Placement::uniform(bed.cluster);
    const Fabric symmetric(bed.cluster, bed.graph, one, bed.profile);
    for (const CollectiveOp op : kOps) {
      for (const Algorithm a : kAlgorithms) {
        const std::vector<std::vector<int>> groups{bed.group(first(32))};
        const Collective all = collective(bed.fabric, op, groups, Bytes(5e6), a);
        const Collective single = collective(symmetric, op, groups, Bytes(5e6), a);
        CAPTURE(nodes, to_string(op), all.algorithm);
        CHECK(all.latency().value == single.latency().value);
        CHECK(all.transfer(bed.fabric).value == Approx(single.transfer(symmetric).value).epsilon(1e-12));
      }
    }
  }
}
