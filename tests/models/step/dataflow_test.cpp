// Check that the stages of describe() do their operation. Pieces of data are carried along the messages, and
// the bytes of each message are compared with its pieces. A message's pieces do not follow from its bytes: in
// an all-gather they are all that its sender has and its receiver lacks, in a reduce-scatter the same in
// reverse. Lanes (the rings and directions over which a stage splits its bytes) are found from the senders
// and receivers.
#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "models/collective/collective_algorithm.h"
#include "tests/catch.h"
#include "tests/models/fabric_bed.h"
#include "units/index.h"

using namespace trnplan;
using namespace trnplan::models;

namespace {

/// Pieces a rank's chunk is cut into: divisible by every number of lanes.
constexpr int kPieces = 48;

/// The messages of one step, between ranks (node * l + member).
struct Sent {
  int from, to, lane;
  const Relation* relation;
};

class Dataflow {
 public:
  Dataflow(const FlatBed& m, const std::vector<int>& local)
      : local_(local),
        nodes_(m.cluster.nodes),
        ranks_(nodes_ * static_cast<int>(local.size())),
        cores_per_chip_(m.cluster.instance.cores_per_chip) {}

  int ranks() const { return ranks_; }
  int size() const { return static_cast<int>(local_.size()); }
  int chip(int rank) const { return rank / size() * 10000 + local_[at(rank % size())] / cores_per_chip_; }
  int chips() const {
    std::set<int> all;
    for (int j = 0; j < size(); ++j) all.insert(chip(j));
    return static_cast<int>(all.size());
  }
  bool same_chip(const Sent& s) const { return chip(s.from) == chip(s.to); }

  std::vector<Sent> messages(const Stage& stage) const {
    std::vector<Sent> all;
    std::vector<std::set<int>> senders, receivers;  // by lane
    for (const Relation& r : stage.relations) {
      int lane = 0;
      while (at(lane) < senders.size() &&
             (senders[at(lane)].contains(r.from) || receivers[at(lane)].contains(r.to)))
        ++lane;
      if (at(lane) == senders.size()) {
        senders.emplace_back();
        receivers.emplace_back();
      }
      senders[at(lane)].insert(r.from);
      receivers[at(lane)].insert(r.to);
      for (int n = 0; n < nodes_; ++n) {
        for (int other = 0; other < nodes_; ++other) {
          const bool goes = r.node == Relation::Node::same    ? other == n
                            : r.node == Relation::Node::shift ? other == (n + r.by) % nodes_
                            : r.node == Relation::Node::flip  ? other == (n ^ r.by)
                                                              : other != n;
          if (goes) all.push_back({n * size() + r.from, other * size() + r.to, lane, &r});
        }
      }
    }
    return all;
  }

  /// The pieces (chunk * kPieces + piece) that each message of each step of an all-gather carries; empty
  /// lists when some message's bytes are not those of its pieces. `backwards`: a reduce-scatter, last step
  /// first.
  std::vector<std::vector<std::vector<int>>> gather(std::vector<Stage> stages, double gathered,
                                                    const std::string& algorithm, bool backwards) {
    if (backwards) std::reverse(stages.begin(), stages.end());
    const double piece = gathered / ranks_ / kPieces;
    std::vector<std::vector<char>> held(at(ranks_), std::vector<char>(at(ranks_ * kPieces), 0));
    for (int r = 0; r < ranks_; ++r) {
      std::fill_n(held[at(r)].begin() + r * kPieces, kPieces, 1);
    }
    std::vector<std::vector<std::vector<int>>> carried;
    received.assign(at(ranks_), 0);
    for (const Stage& stage : stages) {
      std::vector<Sent> all = messages(stage);
      const bool kangaring =
          algorithm.find("kangaring") != std::string::npos && stage.relations[0].node == Relation::Node::same;
      const bool siblings =
          kangaring && std::all_of(all.begin(), all.end(), [&](const Sent& s) { return same_chip(s); });
      const bool lanes = !siblings && std::none_of(all.begin(), all.end(), [](const Sent& s) {
        return s.relation->spread || s.relation->node == Relation::Node::others;
      });
      int lane_count = 1;
      if (lanes) {
        for (const Sent& s : all) lane_count = std::max(lane_count, s.lane + 1);
      }
      if (kPieces % lane_count != 0) return {};
      const int part = kPieces / lane_count;
      for (std::int64_t step = 0; step < stage.steps; ++step) {
        std::vector<std::vector<int>> now;
        for (const Sent& s : all) {
          const int from = backwards ? s.to : s.from, to = backwards ? s.from : s.to;
          const int low = lanes ? s.lane * part : 0, high = lanes ? low + part : kPieces;
          std::vector<int> pieces;
          for (int chunk = 0; chunk < ranks_; ++chunk) {
            // A core of a kangaring passes on what comes from the same core of other chips.
            if (kangaring && !siblings && place_on_chip(chunk) != place_on_chip(from)) continue;
            for (int p = low; p < high; ++p) {
              const int id = chunk * kPieces + p;
              if (held[at(from)][at(id)] != 0 && held[at(to)][at(id)] == 0) pieces.push_back(id);
            }
          }
          const double bytes = piece * static_cast<double>(pieces.size());
          if (std::abs(bytes - s.relation->bytes) > 1e-9 * gathered) return {};
          received[at(to)] += bytes;
          now.push_back(std::move(pieces));
        }
        for (std::size_t m = 0; m < all.size(); ++m) {
          const int to = backwards ? all[m].from : all[m].to;
          for (int r = 0; r < ranks_; ++r) {
            // What reaches a chip is written for all its cores.
            if (r != to && !(kangaring && !siblings && chip(r) == chip(to))) continue;
            for (const int id : now[m]) held[at(r)][at(id)] = 1;
          }
        }
        carried.push_back(std::move(now));
      }
    }
    complete = std::all_of(held.begin(), held.end(), [](const auto& mine) {
      return std::all_of(mine.begin(), mine.end(), [](char x) { return x != 0; });
    });
    return carried;
  }

  /// Carries partial sums along the messages of a reduce-scatter: true when in the end each rank's chunk has
  /// every rank's contribution, and none twice.
  bool scatter(const std::vector<Stage>& stages, double gathered, const std::string& algorithm) {
    auto backwards = gather(stages, gathered, algorithm, true);
    if (backwards.empty() || !complete) return false;
    // sum[rank][piece]: one bit of each of `words` per contributor; empty when given away.
    const std::size_t words = at((ranks_ + 63) / 64);
    const std::size_t pieces = at(ranks_ * kPieces);
    std::vector<std::uint64_t> sum(at(ranks_) * pieces * words, 0);
    const auto of = [&](int rank, int id) {
      return sum.begin() + static_cast<std::ptrdiff_t>((at(rank) * pieces + at(id)) * words);
    };
    for (int r = 0; r < ranks_; ++r) {
      for (int id = 0; id < ranks_ * kPieces; ++id) of(r, id)[r / 64] |= std::uint64_t{1} << (r % 64);
    }
    std::size_t step = backwards.size();
    for (const Stage& stage : stages) {
      const std::vector<Sent> all = messages(stage);
      const bool inside = algorithm.find("kangaring") != std::string::npos &&
                          stage.relations[0].node == Relation::Node::same &&
                          !std::all_of(all.begin(), all.end(), [&](const Sent& s) { return same_chip(s); });
      for (std::int64_t s = 0; s < stage.steps; ++s) {
        --step;
        // All leave before any arrives.
        std::vector<std::vector<std::uint64_t>> moving(all.size());
        for (std::size_t m = 0; m < all.size(); ++m) {
          for (const int id : backwards[step][m]) {
            std::vector<std::uint64_t> got(words, 0);
            for (int r = 0; r < ranks_; ++r) {
              if (r != all[m].from && !(inside && chip(r) == chip(all[m].from))) continue;
              for (std::size_t w = 0; w < words; ++w)
                got[w] |= std::exchange(of(r, id)[static_cast<std::ptrdiff_t>(w)], 0);
            }
            moving[m].insert(moving[m].end(), got.begin(), got.end());
          }
        }
        for (std::size_t m = 0; m < all.size(); ++m) {
          for (std::size_t i = 0; i < backwards[step][m].size(); ++i) {
            const auto to = of(all[m].to, backwards[step][m][i]);
            for (std::size_t w = 0; w < words; ++w) {
              const std::uint64_t more = moving[m][i * words + w];
              if ((to[static_cast<std::ptrdiff_t>(w)] & more) != 0) return false;
              to[static_cast<std::ptrdiff_t>(w)] |= more;
            }
          }
        }
      }
    }
    for (int r = 0; r < ranks_; ++r) {
      for (int p = 0; p < kPieces; ++p) {
        int contributions = 0;
        for (std::size_t w = 0; w < words; ++w)
          contributions += std::popcount(of(r, r * kPieces + p)[static_cast<std::ptrdiff_t>(w)]);
        if (contributions != ranks_) return false;
      }
    }
    return true;
  }

  /// Whether the accesses to memory are those of a gather or a reduction.
  bool accesses(const std::vector<Stage>& stages, const std::string& algorithm, bool reduce) const {
    for (const Stage& stage : stages) {
      for (const Sent& s : messages(stage)) {
        const bool circulates = algorithm.find("kangaring") != std::string::npos &&
                                s.relation->node == Relation::Node::same && !same_chip(s);
        const double written = (circulates ? cores_per_chip_ : 1) + (reduce ? 1 : 0);
        if (s.relation->read != 1 || s.relation->written != written) return false;
      }
    }
    return true;
  }

  /// Whether the stages of halving-doubling are exchanges: who sends to a rank gets as much back. (By turns
  /// over 1, 2, 4 ... nodes every piece would come to its place too, but that is another algorithm.)
  bool exchanges(const std::vector<Stage>& stages, const std::string& algorithm) const {
    const bool both = algorithm == "rdh";
    const bool outside = both || algorithm.starts_with("hierarchical (rdh"),
               inside = both || algorithm.ends_with("rdh)");
    for (const Stage& stage : stages) {
      if (!(stage.relations[0].node == Relation::Node::same ? inside : outside)) continue;
      std::map<std::pair<int, int>, double> balance;
      for (const Sent& s : messages(stage))
        balance[std::minmax(s.from, s.to)] += (s.from < s.to ? 1 : -1) * s.relation->bytes;
      for (const auto& [pair, bytes] : balance) {
        if (bytes != 0) return false;
      }
    }
    return true;
  }

  std::vector<double> received;  ///< bytes per rank, by the last gather()
  bool complete = false;         ///< whether every rank had all pieces at its end

 private:
  int place_on_chip(int rank) const { return local_[at(rank % size())] % cores_per_chip_; }

  std::vector<int> local_;
  int nodes_, ranks_, cores_per_chip_;
};

/// Every ordered pair of different ranks once, with these bytes.
bool all_pairs(const Dataflow& flow, const Description& d, double bytes, double written) {
  if (d.stages.size() != 1 || d.stages[0].steps != 1) return false;
  std::set<std::pair<int, int>> pairs;
  for (const Sent& s : flow.messages(d.stages[0])) {
    if (s.from == s.to || !pairs.emplace(s.from, s.to).second) return false;
    if (std::abs(s.relation->bytes - bytes) > 1e-9 * bytes || s.relation->written != written) return false;
    if (s.relation->node == Relation::Node::same && !s.relation->spread) return false;
  }
  return static_cast<int>(pairs.size()) == flow.ranks() * (flow.ranks() - 1);
}

void check(const FlatBed& machine, const std::vector<int>& local, std::map<std::string, int>& ran) {
  std::vector<int> ranks;
  for (int n = 0; n < machine.cluster.nodes; ++n) {
    for (const int c : local) ranks.push_back(n * machine.cluster.instance.cores() + c);
  }
  if (ranks.size() < 2) return;
  const GroupShape shape = shape_of(machine.cluster, ranks);
  Dataflow flow(machine, local);
  const double bytes = 7.68e6;
  const int n = flow.ranks();
  for (const Algorithm a : kAlgorithms) {
    const auto stages = [&](CollectiveOp op) { return describe(machine.fabric, op, shape, Bytes(bytes), a); };
    const Description gathers = stages(CollectiveOp::all_gather),
                      scatters = stages(CollectiveOp::reduce_scatter),
                      reduces = stages(CollectiveOp::all_reduce);
    CAPTURE(machine.cluster.instance.name, machine.cluster.nodes, local.size(), n, gathers.algorithm);
    ++ran[gathers.algorithm];

    // A chunk of every rank for every rank; each receives what it lacks, (n - 1)/n of the whole. A
    // kangaring's cores receive for each other.
    const auto expected = [&](const std::string& name) {
      const double whole = bytes * (n - 1) / n;
      if (name.find("kangaring") == std::string::npos) return whole;
      const int l = flow.size(), k = n / l, q = l / flow.chips();
      return bytes / n * (k - 1) + bytes / l * (flow.chips() - 1 + q - 1);
    };
    const auto received_right = [&](const std::string& name) {
      return std::all_of(flow.received.begin(), flow.received.end(),
                         [&](double got) { return std::abs(got - expected(name)) <= 1e-9 * bytes; });
    };
    CHECK(!flow.gather(gathers.stages, bytes, gathers.algorithm, false).empty());
    CHECK(flow.complete);
    CHECK(received_right(gathers.algorithm));
    CHECK(flow.accesses(gathers.stages, gathers.algorithm, false));
    CHECK(flow.exchanges(gathers.stages, gathers.algorithm));

    CHECK(flow.scatter(scatters.stages, bytes, scatters.algorithm));
    CHECK(received_right(scatters.algorithm));
    CHECK(flow.accesses(scatters.stages, scatters.algorithm, true));
    CHECK(flow.exchanges(scatters.stages, scatters.algorithm));

    if (reduces.algorithm == "one-step") {
      CHECK(all_pairs(flow, reduces, bytes, 2));
      ++ran["one-step"];
    } else {
      REQUIRE(reduces.stages.size() == 2 * gathers.stages.size());
      const auto half = reduces.stages.begin() + static_cast<std::ptrdiff_t>(gathers.stages.size());
      const std::vector<Stage> reduce(reduces.stages.begin(), half), gather(half, reduces.stages.end());
      CHECK(flow.scatter(reduce, bytes, reduces.algorithm));
      CHECK(flow.accesses(reduce, reduces.algorithm, true));
      CHECK(!flow.gather(gather, bytes, reduces.algorithm, false).empty());
      CHECK(flow.complete);
      CHECK(flow.accesses(gather, reduces.algorithm, false));
    }
    // Mesh inside a node uses all shortest paths.
    for (const Stage& stage : gathers.stages) {
      for (const Relation& r : stage.relations) {
        const bool mesh = gathers.algorithm.ends_with("mesh") || gathers.algorithm.ends_with("mesh)");
        if (mesh && r.node == Relation::Node::same) CHECK(r.spread);
      }
    }

    // One piece of S / n from everyone for everyone.
    CHECK(all_pairs(flow, stages(CollectiveOp::all_to_all), bytes / n, 1));
    for (const CollectiveOp op : {CollectiveOp::permute, CollectiveOp::send_recv}) {
      const Description next = stages(op);
      REQUIRE(next.stages.size() == 1);
      CHECK(next.stages[0].steps == 1);
      std::set<int> senders;
      for (const Sent& s : flow.messages(next.stages[0])) {
        CHECK(s.to == (s.from + 1) % n);
        CHECK(s.relation->bytes == bytes);
        CHECK(s.relation->written == 1);
        CHECK(senders.insert(s.from).second);
      }
      CHECK(static_cast<int>(senders.size()) == n);
    }
  }
}

}  // namespace

TEST_CASE("every algorithm carries every piece where it belongs", "[models][collective][dataflow]") {
  std::map<std::string, int> ran;
  for (const int nodes : {1, 2, 4}) {
    const FlatBed trn1("trn1.32xlarge", nodes);
    for (const std::vector<int>& local : trn1_groups()) check(trn1, local, ran);
    if (nodes < 4) check(trn1, first(32), ran);
    // Four cores a chip: a chip, a pair of chips, half of a chip, one core a chip of a row, a row.
    const FlatBed trn2("trn2.48xlarge", nodes);
    for (const std::vector<int>& local :
         std::vector<std::vector<int>>{first(4), first(8), {0, 1}, first(4, 4), first(16)}) {
      check(trn2, local, ran);
    }
    for (const auto& [rows, columns] : {std::pair(4, 4), std::pair(3, 5), std::pair(2, 4), std::pair(3, 3)}) {
      if (nodes < 4) check(FlatBed(torus_cluster(rows, columns, nodes)), first(rows * columns), ran);
    }
  }
  for (const char* name :
       {"ring", "kangaring", "mesh", "rdh", "torus", "flat-ring", "one-step", "hierarchical (ring, ring)",
        "hierarchical (ring, kangaring)", "hierarchical (mesh, mesh)", "hierarchical (rdh, rdh)",
        "hierarchical (ring, torus)"}) {
    CAPTURE(name);
    CHECK(ran[name] > 0);
  }
}
