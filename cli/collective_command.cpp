#include <memory>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/collective.h"
#include "api/documents.h"
#include "api/health.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/options.h"
#include "cli/text/health_text.h"
#include "cli/text/text.h"
#include "models/collective/collective_runtime.h"

namespace trnplan::cli {

namespace {

constexpr int kMostRanks = 1 << 24;
constexpr double kMostOversubscription = 1e6, kMostFactor = 1e9, kMostSlowFactor = 1000;

struct CollectiveOptions {
  Common common;  ///< its profile is in the request
  api::CollectiveRequest request;
  api::HealthRequest health;  ///< its instance and profile are in the request
  bool in_graph = false, show_algorithm = false;
  int iterations = 0, warm_up = 0;  ///< of nccom-test; ignored, like the next two
  std::string check;
  std::vector<std::string> hosts;
};

/// Types for --datatype.
constexpr const char* kDatatypes[] = {"fp32",  "bf16",  "fp16",   "fp8",   "int8",
                                      "uint8", "int16", "uint16", "int32", "uint32"};

/// Remarks on inputs that the result does not show.
void explain(const CollectiveOptions& o, const api::CollectiveResult& result) {
  if (o.iterations > 0 || o.warm_up > 0 || !o.check.empty() || !o.hosts.empty()) {
    remark(
        "--iters, --warmup_iters, --check and --hosts state how nccom-test runs; a predicted time does not "
        "depend on them (--nodes states the number of nodes)");
  }
  if (!o.request.sweeps() || o.common.format != "text") return;
  remark(
      "GB/s in this table are 10^9 bytes/s, as in nccom-test since 2025; older builds divide by 2^30 and "
      "print 7 % less, so compare the times");
  const topology::GroupVerdict& v = result.verdict();
  if (v.verdict != topology::Verdict::supported) {
    remark(fmt::format("{}: {}: {}; source: {}{}", topology::to_string(v.verdict), v.rule, v.message,
                       v.source, result.fix.empty() ? "" : "; fix: " + result.fix));
  }
}

/// Prints nodes slower than the prediction, instead of the prediction.
int judge(const CollectiveOptions& o) {
  if (o.common.rows()) {
    throw InputError({{"command line", 0, 0},
                      "--format",
                      o.common.format + " has the rows of predicted collectives",
                      "leave out --measured, or give --format json"});
  }
  Remarks remarks = printed_remarks();
  api::HealthRequest request = o.health;
  request.op = o.request.op;
  request.instance = o.request.instance;
  request.profile = o.request.profile;
  request.oversubscription = o.request.oversubscription;
  const io::HealthReport report = api::health(request, remarks);
  if (o.common.json())
    print(io::health_json(report));
  else
    print_text(health_text(report));
  return report.slow.empty() ? kDone : kNoPlan;
}

int run(const CollectiveOptions& o) {
  if (!o.health.measured.empty()) return judge(o);
  Remarks remarks = printed_remarks();
  const api::CollectiveResult result = api::collective(o.request, remarks);
  const auto& [cluster, profile, timed, fix] = result;
  if (!result.unreachable()) explain(o, result);
  const std::string& type = o.request.datatype;
  if (o.common.json()) {
    print(api::document(result, o.request.sweeps()));
  } else if (o.common.rows()) {
    print_rows(o.common, api::document(result, true), io::collective_rows());
  } else if (o.request.sweeps() && !result.unreachable()) {  // as nccom-test prints it
    print(collective_table(timed, {type, api::element_bytes(type), o.in_graph, o.show_algorithm}));
  } else {
    print_text(collective_text(cluster, profile.name, timed.front(), fix));
  }
  return result.verdict().verdict == topology::Verdict::refused ? kNoPlan : kDone;
}

}  // namespace

void add_collective(CLI::App& app, Run& chosen) {
  auto o = std::make_shared<CollectiveOptions>();
  CLI::App* command =
      app.add_subcommand("collective", "Time one collective, or a table of sizes like nccom-test's");
  command
      ->add_option("op", o->request.op,
                   "all_reduce, all_gather, reduce_scatter, all_to_all, permute, send_recv, or nccom-test's "
                   "allr, allg, redsct, alltoall, sendrecv")
      ->required();
  command
      ->add_option("-r,--ranks,--nworkers", o->request.ranks,
                   "ranks on all nodes together; default: all cores")
      ->check(whole_number(1, kMostRanks));
  command
      ->add_option("-b,--bytes,--minbytes", o->request.bytes,
                   "size as nccom-test counts it: bytes with which each rank ends (all_gather) or starts "
                   "(the others). K, KB, KiB are 2^10, as in nccom-test; likewise M, G, T")
      ->capture_default_str();
  CLI::Option* most = command
                          ->add_option("-e,--maxbytes", o->request.most_bytes,
                                       "print a table of sizes from --minbytes up to this one")
                          ->check(not_empty());
  command
      ->add_option("-f,--stepfactor", o->request.factor,
                   "for the table: ratio of each size to the one before, above 1")
      ->check(decimal_number(0, kMostFactor))
      ->needs(most)
      ->capture_default_str();
  const std::vector<std::string> types(std::begin(kDatatypes), std::end(kDatatypes));
  command
      ->add_option("-d,--datatype", o->request.datatype,
                   "type of the elements; sizes are cut to whole elements; the time depends on bytes alone")
      ->check(CLI::IsMember(types))
      ->capture_default_str();
  command->add_flag("--show-algorithm", o->show_algorithm, "for the table: add a column with the algorithm");
  command->add_flag("--in-graph", o->in_graph,
                    "for the table: show the time inside a compiled graph, without host launch and barrier; "
                    "for one size both are shown");
  command
      ->add_option("--algorithm", o->request.algorithm,
                   fmt::format("{}", fmt::join(models::algorithm_names(), ", ")))
      ->capture_default_str();
  command->add_option("--instance", o->request.instance, "instance type")->capture_default_str();
  command
      ->add_option("-N,--nodes,--nnodes", o->request.nodes,
                   "number of nodes, all with the same number of ranks")
      ->check(whole_number(1, topology::kMostNodes))
      ->capture_default_str();
  command
      ->add_option("--oversubscription", o->request.oversubscription,
                   "of the network between nodes: sum of the NIC rates over the rate that it carries; 1 when "
                   "it carries all that the NICs can send, 2 when it carries half of that")
      ->check(decimal_number(1, kMostOversubscription))
      ->capture_default_str();
  const std::string ignored = "an option of nccom-test; accepted and ignored";
  command->add_option("-n,--iters", o->iterations, ignored)->check(whole_number(1, 1 << 30));
  command->add_option("-w,--warmup_iters,--warmup", o->warm_up, ignored)->check(whole_number(0, 1 << 30));
  command->add_flag("-c,--check{random}", o->check, ignored + "; a value after =");
  command->add_option("-s,--hosts", o->hosts, ignored);
  CLI::Option* measured =
      command
          ->add_option(
              "--measured", o->health.measured,
              "output of nccom-test with a line \"[trnplan] nodes NAME NAME\" above each run, as health.sh "
              "of a plan's folder writes it; names the nodes that are slower than predicted")
          ->check(not_empty());
  command
      ->add_option("--slow-factor", o->health.factor,
                   "for --measured: a run is slow if it takes more than this factor times what it should")
      ->check(decimal_number(1, kMostSlowFactor))
      ->needs(measured)
      ->capture_default_str();
  for (const char* other : {"--ranks", "--minbytes", "--maxbytes", "--datatype", "--show-algorithm",
                            "--in-graph", "--algorithm", "--nodes"})
    measured->excludes(command->get_option(other));
  add_row_format(*command, o->common);
  add_profile(*command, o->common);
  add_hardware(*command, o->request.hardware);
  measured->excludes(command->get_option("--set"));
  command->footer(
      "Exit code 3: the runtime would refuse the group, which is timed all the same; with --measured: a node "
      "is slow.\n"
      "Examples:\n"
      "  trnplan collective all_reduce --ranks 32 --bytes 64M\n"
      "  trnplan collective all_gather --nodes 4 --bytes 1GiB --oversubscription 2 --format json\n"
      "  trnplan collective allr -r 2 -b 1KB -e 1GB -f 4 -d fp32 --show-algorithm\n"
      "  trnplan collective allr --measured my-plan/health-1742/*.out");
  command->callback([o, &chosen] {
    chosen = [o] {
      o->request.profile = o->common.profile;
      return run(*o);
    };
  });
}

}  // namespace trnplan::cli
