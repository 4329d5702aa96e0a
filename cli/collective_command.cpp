#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/inputs.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/options.h"
#include "cli/text/text.h"
#include "io/output/collective_json.h"
#include "models/collective/collective_timing.h"
#include "text/diagnostic.h"
#include "text/parse.h"

namespace trnplan::cli {

namespace {

using models::Algorithm;
using models::CollectiveOp;

constexpr int kMostRows = 200;
constexpr int kMostRanks = 1 << 24;
constexpr double kMostOversubscription = 1e6, kMostFactor = 1e9;

struct Options {
  Common common;
  std::string op, bytes = "32MiB", most_bytes, algorithm = "auto", instance = "trn1.32xlarge",
                  datatype = "fp32";
  int ranks = 0;  ///< 0: all cores
  int nodes = 1;
  double oversubscription = 1, factor = 2;
  bool in_graph = false, show_algorithm = false;
  int iterations = 0, warm_up = 0;  ///< of nccom-test; ignored, like the next two
  std::string check;
  std::vector<std::string> hosts;

  bool sweeps() const { return !most_bytes.empty(); }
};

/// The types that --datatype knows.
constexpr const char* kDatatypes[] = {"fp32",  "bf16",  "fp16",   "fp8",   "int8",
                                      "uint8", "int16", "uint16", "int32", "uint32"};

int element_bytes(const std::string& type) {
  return models::element_bytes(type).value_or(1);
}

/// All names of an enum with a to_string(), from `first` to `last`.
template <class Enum>
std::vector<std::string> names(Enum first, Enum last) {
  std::vector<std::string> all;
  for (int i = static_cast<int>(first); i <= static_cast<int>(last); ++i) {
    all.emplace_back(to_string(static_cast<Enum>(i)));
  }
  return all;
}

/// "did you mean mesh? Known: auto, ring, ..."; `also` are names that are understood and not listed.
std::string suggestion(const std::string& word, const std::vector<std::string>& known,
                       const std::vector<std::string>& also = {}) {
  std::vector<std::string> all = known;
  all.insert(all.end(), also.begin(), also.end());
  const std::string near = nearest(word, all);
  return fmt::format("{}Known: {}", near.empty() ? "" : "did you mean " + near + "? ",
                     fmt::join(known, ", "));
}

/// What the options say, every fault of theirs noted.
class Reading {
 public:
  explicit Reading(const Options& o) : o_(o) {}

  CollectiveOp op() {
    const auto op = models::collective_op(o_.op);
    if (!op) {
      note("op", in_quotes(o_.op, 40) + " is no collective",
           suggestion(o_.op, names(CollectiveOp::all_gather, CollectiveOp::send_recv),
                      {"allr", "allg", "redsct", "alltoall", "sendrecv"}));
    }
    return op.value_or(CollectiveOp::all_reduce);
  }

  Algorithm algorithm() {
    const auto algorithm = models::collective_algorithm(o_.algorithm);
    if (!algorithm) {
      note("--algorithm", in_quotes(o_.algorithm, 40) + " is no algorithm",
           suggestion(o_.algorithm, names(Algorithm::automatic, Algorithm::one_step)));
    }
    return algorithm.value_or(Algorithm::automatic);
  }

  int ranks(const topology::Cluster& cluster) {
    if (o_.ranks == 0) return cluster.cores();
    if (o_.ranks > cluster.cores()) {
      note("--ranks",
           fmt::format("{} ranks on {} cores ({} x {})", o_.ranks, cluster.cores(), cluster.nodes,
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

  /// One size, or those of the sweep; ascending, whole elements of the datatype.
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
      note("--stepfactor", fmt::format("{} is no number above 1", o_.factor),
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
           "a larger factor, or a --maxbytes nearer to --minbytes");
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
      note(option, in_quotes(text, 40) + " is no size up to 2^62 bytes",
           "whole bytes, or a number with K, M, G or T, which are powers of 1024: 65536, 64K, 1.5MiB");
    }
    return bytes;
  }

  /// Down to whole elements, but not to none.
  Bytes whole(Bytes b) const {
    const double element = element_bytes(o_.datatype);
    return Bytes(b.value > 0 ? element * std::max(1.0, std::floor(b.value / element)) : 0);
  }

  const Options& o_;
  std::vector<Diagnostic> faults_;
};

/// A group that has no way for its bytes: there is no time to print.
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

/// Why an algorithm that was asked for is not, or not everywhere, what ran.
std::string obstacle(Algorithm asked, const models::CollectiveRun& run, const topology::Cluster& cluster,
                     const std::string& timed) {
  if (run.op != CollectiveOp::all_reduce && run.op != CollectiveOp::all_gather &&
      run.op != CollectiveOp::reduce_scatter) {
    return fmt::format("{} has one way, {}", to_string(run.op), timed);
  }
  switch (asked) {
    case Algorithm::kangaring:
      return "it needs every core of two chips or more";
    case Algorithm::halving_doubling:
      return "it needs a power of two of ranks on each node, equally many on each of their chips";
    case Algorithm::torus:
      return "it needs one rank on every chip of a node, no more, and chips in a plain torus";
    case Algorithm::hierarchical:
      return cluster.nodes == 1 ? "on one node there is one level"
                                : "with one rank a node there is one level";
    case Algorithm::one_step:
      return "it is for all_reduce only";
    default:
      return "the group is too small for it";
  }
}

/// Numbers of ranks near that of `run` whose group the runtime accepts: the next below and above.
std::string supported_ranks(const topology::Cluster& cluster, const topology::ChipGraph& graph,
                            const topology::GroupVerdict& verdict) {
  if (verdict.rule == "no-efa") return api::no_efa_fix();
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

void explain_algorithm(const Options& o, const io::TimedCollective& timed, const topology::Cluster& cluster) {
  const Algorithm asked = timed.run.algorithm;
  const std::string& ran = timed.timing.algorithm;
  if (asked == Algorithm::automatic || timed.run.ranks < 2) return;
  const bool partly = ran.find(to_string(asked)) != std::string::npos;
  if (!partly) {
    remark(fmt::format("--algorithm {} does not apply here, {}: timed {}", o.algorithm,
                       obstacle(asked, timed.run, cluster, ran), ran));
  } else if (asked == Algorithm::halving_doubling && ran.find("ring") != std::string::npos) {
    remark(fmt::format("--algorithm rdh applies between nodes only, {}: timed {}",
                       obstacle(asked, timed.run, cluster, ran), ran));
  }
}

/// Says what the result does not show.
void explain(const Options& o, const topology::Cluster& cluster, const io::TimedCollective& timed,
             Bytes largest, const std::string& fix) {
  const models::CollectiveTiming& t = timed.timing;
  explain_algorithm(o, timed, cluster);
  if (largest > cluster.instance.core.memory) {
    remark(fmt::format("{:.4g} GiB are more than the {:.4g} GiB of memory of a core: no core can hold them",
                       in_gibibytes(largest), in_gibibytes(cluster.instance.core.memory)));
  }
  if (o.iterations > 0 || o.warm_up > 0 || !o.check.empty() || !o.hosts.empty()) {
    remark(
        "--iters, --warmup_iters, --check and --hosts say how nccom-test runs; a predicted time does not "
        "depend on them (--nodes says how many nodes)");
  }
  if (!o.sweeps() || o.common.json()) return;
  remark(
      "GB/s of this table are 10^9 bytes/s, as nccom-test prints them since 2025; older builds divide by "
      "2^30 "
      "and print 7 % less. Compare the times");
  if (t.verdict.verdict != topology::Verdict::supported) {
    remark(fmt::format("{}: {}: {}; source: {}{}", topology::to_string(t.verdict.verdict), t.verdict.rule,
                       t.verdict.message, t.verdict.source, fix.empty() ? "" : "; fix: " + fix));
  }
}

int run(const Options& o) {
  Remarks remarks = heard_remarks();
  const io::Catalog catalog = io::Catalog::standard();
  const models::Profile profile = api::load_profile(catalog, o.common.profile);
  topology::Cluster cluster{api::load_instance(catalog, o.instance), o.nodes};
  Reading reading(o);
  io::TimedCollective timed;
  timed.run.op = reading.op();
  timed.run.ranks = reading.ranks(cluster);
  timed.run.algorithm = reading.algorithm();
  cluster.oversubscription = o.oversubscription;
  const std::vector<Bytes> sizes = reading.sizes();
  reading.finish();
  if (cluster.instance.nics == 0) cluster.oversubscription = 1;  // of nothing
  if (!o.sweeps() && sizes.front() != *parse_bytes(o.bytes)) {
    const double asked = parse_bytes(o.bytes)->value;
    remark(fmt::format("{:.0f} byte{} no whole number of {}: timed {:.0f}", asked,
                       asked == 1 ? " is" : "s are", o.datatype, sizes.front().value));
  }
  api::remark_family(catalog, profile, cluster.instance, remarks);

  const topology::ChipGraph graph(cluster.instance);
  const models::CollectiveTimer timer(cluster, graph, profile, true);
  std::vector<io::TimedCollective> all;
  for (const Bytes size : sizes) {
    timed.run.bytes = size;
    timed.timing = timer.time(timed.run);
    if (!has_no_way(timed.timing)) refuse_infinite(timed.timing);
    all.push_back(timed);
  }
  const io::TimedCollective& first = all.front();
  const bool supported = first.timing.verdict.verdict == topology::Verdict::supported;
  const std::string fix = supported ? "" : supported_ranks(cluster, graph, first.timing.verdict);
  const bool table = o.sweeps() && !has_no_way(first.timing);
  if (!has_no_way(first.timing)) explain(o, cluster, first, sizes.back(), fix);
  if (o.common.json()) {
    print(o.sweeps() ? io::collective_sweep_json(cluster, profile, all)
                     : io::collective_json(cluster, profile, first));
  } else {
    if (table)  // as nccom-test prints it
      print(collective_table(all, {o.datatype, element_bytes(o.datatype), o.in_graph, o.show_algorithm}));
    else
      print_text(collective_text(cluster, profile.name, first, fix));
  }
  return first.timing.verdict.verdict == topology::Verdict::refused ? kNoPlan : kDone;
}

}  // namespace

void add_collective(CLI::App& app, Run& chosen) {
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("collective", "Time one collective, or sizes as nccom-test does");
  command
      ->add_option("op", o->op,
                   "all_reduce, all_gather, reduce_scatter, all_to_all, permute, send_recv, or nccom-test's "
                   "allr, allg, redsct, alltoall, sendrecv")
      ->required();
  command->add_option("-r,--ranks,--nworkers", o->ranks, "ranks over all nodes; all cores when absent")
      ->check(whole_number(1, kMostRanks));
  command
      ->add_option("-b,--bytes,--minbytes", o->bytes,
                   "size as nccom-test counts it: what each rank ends with (all_gather), else starts with. "
                   "K, KB, KiB are 2^10, as in nccom-test; likewise M, G, T")
      ->capture_default_str();
  CLI::Option* most =
      command->add_option("-e,--maxbytes", o->most_bytes, "a table of sizes from --minbytes up to this one")
          ->check(not_empty());
  command->add_option("-f,--stepfactor", o->factor, "of the table: next size over the one before, above 1")
      ->check(decimal_number(0, kMostFactor))
      ->needs(most)
      ->capture_default_str();
  const std::vector<std::string> types(std::begin(kDatatypes), std::end(kDatatypes));
  command
      ->add_option("-d,--datatype", o->datatype,
                   "type of the elements, whole ones of which make a size; time depends on bytes alone")
      ->check(CLI::IsMember(types))
      ->capture_default_str();
  command->add_flag("--show-algorithm", o->show_algorithm, "of the table: a last column with the algorithm");
  command->add_flag("--in-graph", o->in_graph,
                    "of the table: time inside a compiled graph, without host launch and barrier; one size "
                    "shows both");
  command
      ->add_option("--algorithm", o->algorithm,
                   fmt::format("{}", fmt::join(names(Algorithm::automatic, Algorithm::one_step), ", ")))
      ->capture_default_str();
  command->add_option("--instance", o->instance, "instance type")->capture_default_str();
  command->add_option("-N,--nodes,--nnodes", o->nodes, "nodes, with equally many ranks each")
      ->check(whole_number(1, topology::kMostNodes))
      ->capture_default_str();
  command
      ->add_option(
          "--oversubscription", o->oversubscription,
          "of the network between nodes: NIC rates over what it carries: 1 when it carries what all NICs "
          "can send, 2 for half of that")
      ->check(decimal_number(1, kMostOversubscription))
      ->capture_default_str();
  const std::string ignored = "of nccom-test; accepted and ignored";
  command->add_option("-n,--iters", o->iterations, ignored)->check(whole_number(1, 1 << 30));
  command->add_option("-w,--warmup_iters,--warmup", o->warm_up, ignored)->check(whole_number(0, 1 << 30));
  command->add_flag("-c,--check{random}", o->check, ignored + "; a value after =");
  command->add_option("-s,--hosts", o->hosts, ignored);
  add_common(*command, o->common);
  command->footer(
      "Exit code 3 when the runtime would refuse the group; it is timed all the same.\n"
      "Examples:\n"
      "  trnplan collective all_reduce --ranks 32 --bytes 64M\n"
      "  trnplan collective all_gather --nodes 4 --bytes 1GiB --oversubscription 2 --format json\n"
      "  trnplan collective allr -r 2 -b 1KB -e 1GB -f 4 -d fp32 --show-algorithm");
  command->callback([o, &chosen] { chosen = [o] { return run(*o); }; });
}

}  // namespace trnplan::cli
