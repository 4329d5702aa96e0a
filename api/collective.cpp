#include "api/collective.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/inputs.h"
#include "io/catalog/catalog.h"
#include "models/collective/collective_runtime.h"
#include "models/collective/neuron_algorithms.h"
#include "text/diagnostic.h"
#include "text/parse.h"
#include "topology/chip_graph.h"
#include "topology/nics.h"

namespace trnplan::api {

namespace {

using models::Algorithm;
using models::CollectiveOp;

constexpr int kMostRows = 200;

/// All names of an enum with a to_string(), from `first` to `last`.
template <class Enum>
std::vector<std::string> names(Enum first, Enum last) {
  std::vector<std::string> all;
  for (int i = static_cast<int>(first); i <= static_cast<int>(last); ++i) {
    all.emplace_back(to_string(static_cast<Enum>(i)));
  }
  return all;
}

/// "did you mean mesh? Known: auto, ring, ..."; `also` are names that are accepted but not listed.
std::string suggestion(const std::string& word, const std::vector<std::string>& known,
                       const std::vector<std::string>& also = {}) {
  std::vector<std::string> all = known;
  all.insert(all.end(), also.begin(), also.end());
  const std::string near = nearest(word, all);
  return fmt::format("{}Known: {}", near.empty() ? "" : "did you mean " + near + "? ",
                     fmt::join(known, ", "));
}

}  // namespace

models::CollectiveOp read_collective_op(const std::string& word) {
  const auto op = models::collective_op(word);
  if (op) return *op;
  throw InputError({{"command line", 0, 0},
                    "op",
                    in_quotes(word, 40) + " is not a collective",
                    suggestion(word, names(CollectiveOp::all_gather, CollectiveOp::send_recv),
                               {"allr", "allg", "redsct", "alltoall", "sendrecv"})});
}

namespace {

/// Values of the options, with every fault noted.
class Reading {
 public:
  explicit Reading(const CollectiveRequest& o) : o_(o) {}

  CollectiveOp op() {
    try {
      return read_collective_op(o_.op);
    } catch (const InputError& e) {
      faults_.push_back(e.faults().front());
      return CollectiveOp::all_reduce;
    }
  }

  Algorithm algorithm() {
    const auto algorithm = models::collective_algorithm(o_.algorithm);
    if (!algorithm) {
      note("--algorithm", in_quotes(o_.algorithm, 40) + " is not an algorithm",
           suggestion(o_.algorithm, models::algorithm_names()));
    }
    return algorithm.value_or(Algorithm::automatic);
  }

  int ranks(const topology::Cluster& cluster) {
    if (o_.ranks == 0) return cluster.cores();
    if (o_.ranks > cluster.cores()) {
      note("--ranks",
           fmt::format("{} ranks on {} {}s ({} x {})", o_.ranks, cluster.cores(),
                       topology::device_word(cluster.instance.traits.accelerator), cluster.nodes,
                       cluster.instance.name),
           fmt::format("at most {}, or more --nodes", cluster.cores()));
    } else if (o_.ranks % cluster.nodes != 0) {
      const int below = o_.ranks - o_.ranks % cluster.nodes, above = below + cluster.nodes;
      note("--ranks", fmt::format("{} ranks do not divide by {} nodes", o_.ranks, cluster.nodes),
           below == 0 ? fmt::format("{} ranks or a multiple", above)
                      : fmt::format("{} or {} ranks", below, above));
    }
    return o_.ranks;
  }

  /// One size, or those of the sweep; ascending, in whole elements of the datatype.
  std::vector<Bytes> sizes() {
    const auto first = size("--bytes", o_.bytes);
    const auto last = o_.sweeps() ? size("--maxbytes", o_.most_bytes) : first;
    if (!first || !last) return {};
    if (!o_.sweeps()) return {whole(*first)};
    if (*last < *first) {
      note("--maxbytes", fmt::format("{:.0f} is below --minbytes {:.0f}", last->value, first->value),
           fmt::format("at least {:.0f}", first->value));
      return {};
    }
    if (o_.factor <= 1) {
      note("--stepfactor", fmt::format("{} is not a number above 1", o_.factor),
           "2 doubles the size from row to row");
      return {};
    }
    if (first->value == 0 && last->value > 0) {
      note("--minbytes", "no factor leads from 0 to --maxbytes", "start at the size of one element");
      return {};
    }
    const double steps = first->value == 0 ? 0 : std::log(last->value / first->value) / std::log(o_.factor);
    if (steps >= kMostRows) {
      note("--stepfactor", fmt::format("factor {} makes more than {} rows", o_.factor, kMostRows),
           "a larger factor, or a --maxbytes closer to --minbytes");
      return {};
    }
    std::vector<Bytes> sizes = {whole(*first)};
    for (Bytes next = *first * o_.factor; next <= *last && next.value > 0; next = next * o_.factor) {
      if (whole(next) > sizes.back()) sizes.push_back(whole(next));
    }
    return sizes;
  }

  void finish() {
    if (!faults_.empty()) throw InputError(std::move(faults_));
  }

 private:
  void note(const char* key, std::string problem, std::string fix) {
    faults_.push_back({{"command line", 0, 0}, key, std::move(problem), std::move(fix)});
  }

  std::optional<Bytes> size(const char* option, const std::string& text) {
    const auto bytes = parse_bytes(text);
    if (!bytes) {
      note(option, in_quotes(text, 40) + " is not a size up to 2^62 bytes",
           "whole bytes, or a number with K, M, G or T, which are powers of 1024: 65536, 64K, 1.5MiB");
    }
    return bytes;
  }

  /// Rounds down to whole elements, but not to none.
  Bytes whole(Bytes b) const {
    const double element = element_bytes(o_.datatype);
    return Bytes(b.value > 0 ? element * std::max(1.0, std::floor(b.value / element)) : 0);
  }

  const CollectiveRequest& o_;
  std::vector<Diagnostic> faults_;
};

/// Fault of a group without a path for its bytes: there is no time to print.
bool has_no_way(const models::CollectiveTiming& t) {
  return t.verdict.verdict == topology::Verdict::refused && !std::isfinite(t.seconds.value);
}

void refuse_infinite(const models::CollectiveTiming& t) {
  if (std::isfinite(t.seconds_90.high.value) && std::isfinite(t.nccom_seconds_90.high.value) &&
      std::isfinite(t.busbw))
    return;
  throw InputError({{"command line", 0, 0},
                    "--bytes, --profile",
                    "the time is too large for a number",
                    "choose a smaller size, or a faster profile"});
}

/// Reason why a requested algorithm did not run, or not everywhere.
std::string obstacle(Algorithm asked, const models::CollectiveRun& run, const topology::Cluster& cluster,
                     const std::string& timed) {
  if (run.op != CollectiveOp::all_reduce && run.op != CollectiveOp::all_gather &&
      run.op != CollectiveOp::reduce_scatter) {
    return fmt::format("{} has one algorithm, {}", to_string(run.op), timed);
  }
  return models::runtime_of(cluster.instance).obstacle(asked, cluster);
}

/// Numbers of ranks near that of `run` with a group that the runtime accepts: the next below and above.
std::string supported_ranks(const topology::Cluster& cluster, const topology::ChipGraph& graph,
                            const topology::GroupVerdict& verdict) {
  if (verdict.rule == "no-efa") return no_efa_fix();
  const int local = static_cast<int>(verdict.ranks.size()) / cluster.nodes;
  const topology::Cluster node{cluster.instance, 1};
  const auto accepted = [&](int ranks) {
    return topology::judge(node, graph, topology::GroupKind::tensor, models::ranks_of(node, ranks)).verdict ==
           topology::Verdict::supported;
  };
  std::string found;
  for (const int direction : {-1, 1}) {
    int ranks = local + direction;
    while (ranks >= 1 && ranks <= node.cores() && !accepted(ranks)) ranks += direction;
    if (ranks < 1 || ranks > node.cores()) continue;
    found += fmt::format("{}{}", found.empty() ? "" : " or ", ranks * cluster.nodes);
  }
  return found.empty() ? "" : "use " + found + " ranks";
}

void explain_algorithm(const CollectiveRequest& r, const models::TimedCollective& timed,
                       const topology::Cluster& cluster, Remarks& remarks) {
  const Algorithm asked = timed.run.algorithm;
  const std::string& ran = timed.timing.algorithm;
  if (asked == Algorithm::automatic || timed.run.ranks < 2) return;
  const bool partly = ran.find(to_string(asked)) != std::string::npos;
  if (!partly) {
    remarks.add(fmt::format("--algorithm {} does not apply here, {}: timed {}", r.algorithm,
                            obstacle(asked, timed.run, cluster, ran), ran),
                "algorithm");
  } else if (asked == models::neuron::halving_doubling && ran.find("ring") != std::string::npos) {
    remarks.add(fmt::format("--algorithm rdh applies between nodes only, {}: timed {}",
                            obstacle(asked, timed.run, cluster, ran), ran),
                "algorithm");
  }
}

}  // namespace

int element_bytes(const std::string& type) {
  return models::element_bytes(type).value_or(1);
}

namespace {

/// Times of a collective there would be those of another machine's algorithms.
void refuse_unpublished(const topology::Instance& instance) {
  if (instance.traits.groups != topology::GroupRule::not_published) return;
  throw InputError({{"command line", 0, 0},
                    "--instance",
                    fmt::format("no collective of {} is timed: {}", instance.name, instance.untimed),
                    "use an instance type whose step can be timed: trnplan instances lists them"});
}

}  // namespace

bool CollectiveResult::unreachable() const {
  return has_no_way(timed.front().timing);
}

CollectiveResult collective(const CollectiveRequest& r, Remarks& remarks) {
  const io::Catalog catalog = io::Catalog::standard().with_hardware(io::hardware_settings_from(r.hardware));
  CollectiveResult out;
  topology::Cluster& cluster = out.cluster;
  cluster = {load_instance(catalog, r.instance), r.nodes};
  catalog.refuse_unset(cluster.instance);
  refuse_unpublished(cluster.instance);
  out.profile = load_profile_for(catalog, r.profile, !r.profile.empty(), cluster.instance, remarks);
  Reading reading(r);
  models::TimedCollective timed;
  timed.run.op = reading.op();
  timed.run.ranks = reading.ranks(cluster);
  timed.run.algorithm = reading.algorithm();
  cluster.oversubscription = r.oversubscription;
  cluster.oversubscription = topology::oversubscription_of(cluster);
  const std::vector<Bytes> sizes = reading.sizes();
  reading.finish();
  if (!r.sweeps() && sizes.front() != *parse_bytes(r.bytes)) {
    const double asked = parse_bytes(r.bytes)->value;
    remarks.add(fmt::format("{:.0f} byte{} not a whole number of {}: timed {:.0f}", asked,
                            asked == 1 ? " is" : "s are", r.datatype, sizes.front().value));
  }
  remark_family(catalog, out.profile, cluster.instance, remarks);

  const topology::ChipGraph graph(cluster.instance);
  const models::CollectiveTimer timer(cluster, graph, out.profile, true);
  for (const Bytes size : sizes) {
    timed.run.bytes = size;
    timed.timing = timer.time(timed.run);
    if (!has_no_way(timed.timing)) refuse_infinite(timed.timing);
    out.timed.push_back(timed);
  }
  if (out.verdict().verdict != topology::Verdict::supported)
    out.fix = supported_ranks(cluster, graph, out.verdict());
  if (out.unreachable()) return out;
  explain_algorithm(r, out.timed.front(), cluster, remarks);
  if (sizes.back() > cluster.instance.core.memory) {
    const std::string_view device = topology::device_word(cluster.instance.traits.accelerator);
    remarks.add(fmt::format("{:.4g} GiB is more than the {:.4g} GiB of memory of a {}: no {} can hold it",
                            in_gibibytes(sizes.back()), in_gibibytes(cluster.instance.core.memory), device,
                            device));
  }
  return out;
}

}  // namespace trnplan::api
