#include "io/input/measured_network.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "logs/nccl/nccl_tests.h"
#include "logs/nccom/nccom_test.h"
#include "models/collective/collective_timing.h"
#include "models/collective/measured_network.h"
#include "text/log_lines.h"
#include "text/parse.h"
#include "text/warnings.h"
#include "topology/device_name.h"

namespace trnplan::io {

namespace {

constexpr double kLeastGigabytes = 1e-3, kMostGigabytes = 1e5;

/// A time of an all-reduce.
struct Point {
  int ranks = 0, nodes = 0;
  double bytes = 0, seconds = 0;
  SourcePos at;

  double bus() const { return bytes / seconds * models::bus_factor(models::CollectiveOp::all_reduce, ranks); }
};

InputError fault(const SourcePos& at, std::string problem, std::string fix) {
  return InputError({at, "", std::move(problem), std::move(fix)});
}

constexpr const char* kWhole =
    "give the whole output of all_reduce_perf (nccl-tests) or nccom-test allr on two nodes or more, with its "
    "command "
    "or list of ranks";

/// Nodes of the catalogue with so many ranks on so many hosts (0: not stated). Throws if they are of another machine.
int nodes_of(int ranks, int hosts, const topology::Instance& on, const SourcePos& at) {
  const std::string device(topology::device_word(on.traits.accelerator));
  const int nodes = hosts > 0 ? hosts / on.hosts : (ranks + on.cores() - 1) / on.cores();
  if (hosts > 0 && (nodes == 0 || hosts % on.hosts != 0)) {
    throw fault(
        at, fmt::format("{} hosts are no whole number of {}s, of {} hosts each", hosts, on.name, on.hosts),
        "name the machine that it was measured on as instance");
  }
  if (nodes > topology::kMostNodes)
    throw fault(
        at,
        fmt::format("{} ranks are {} nodes of {}, more than {}", ranks, nodes, on.name, topology::kMostNodes),
        "give the table of one cluster");
  if (ranks % nodes != 0 || ranks / nodes > on.cores()) {
    throw fault(at,
                fmt::format("{} ranks on {} node{}, and a {} has {} {}s", ranks, nodes, nodes == 1 ? "" : "s",
                            on.name, on.cores(), device),
                "name the machine that it was measured on as instance, or measure on the job's");
  }
  return nodes;
}

void refuse_other_accelerator(const topology::Instance& on, bool gpus, const SourcePos& at) {
  if ((on.traits.accelerator == topology::Accelerator::gpu) == gpus) return;
  throw fault(at,
              fmt::format("a table of {}, and a {} has none",
                          gpus ? "nccl-tests, which measures GPUs" : "nccom-test, which measures NeuronCores",
                          on.name),
              "measure on the machine of the job");
}

/// Operations that the words of a table leave possible.
std::vector<models::CollectiveOp> possible_ops(const logs::NcclTable& table) {
  using enum models::CollectiveOp;
  if (table.reduces) return {all_reduce, reduce_scatter};
  if (table.program.starts_with(to_string(all_gather))) return {all_gather};
  return {};
}

/// The operation of a time; nullopt where neither its factor nor the program's name tells. The factor of other
/// operations is that of an all-reduce only by chance, so words decide as well.
std::optional<models::CollectiveOp> op_of(const logs::NcclTable& table, const logs::NcclTime& t) {
  constexpr double kRounding = 0.05;
  for (const models::CollectiveOp op : possible_ops(table)) {
    if (std::abs(t.bus_factor / models::bus_factor(op, table.ranks) - 1) < kRounding) return op;
  }
  return std::nullopt;
}

/// Adds the fault of a row whose time, algbw and busbw cannot be one measurement. Operations of other programs, whose
/// busbw is algbw, are not looked at.
void check_row(const logs::NcclTable& table, const logs::NcclTime& t, Warnings& faults) {
  const std::vector<models::CollectiveOp> ops = possible_ops(table);
  if (!t.cells || ops.empty()) return;
  const auto& [us, algbw, busbw] = *t.cells;
  const auto has_factor = [&](double factor) { return logs::is_multiple_of(busbw, algbw, factor); };
  if (std::none_of(ops.begin(), ops.end(), [&](models::CollectiveOp op) {
        return has_factor(models::bus_factor(op, table.ranks));
      })) {
    if (has_factor(1)) return;
    faults.add(
        t.at, "busbw",
        fmt::format("algbw and busbw of this row disagree: busbw is {:.4g} times algbw, and for the {} ranks "
                    "of this table {} has {:.4g}",
                    t.bus_factor, table.ranks, to_string(ops.front()),
                    models::bus_factor(ops.front(), table.ranks)),
        "give the table as it was printed, with the list of all its ranks, and of one group of them");
    return;
  }
  if (logs::is_rate_of(algbw, t.bytes, us, 1e9)) return;
  faults.add(t.at, "time",
             fmt::format(
                 "time and algbw of this row disagree: {:.0f} bytes in {:g} us are {:.4g} GB/s, and algbw is "
                 "{:g}",
                 t.bytes, us.value, t.bytes / t.seconds / 1e9, algbw.value),
             "give the table as it was printed: time in us, algbw and busbw in GB/s (10^9 bytes)");
}

/// Nodes of a table on that machine. Throws if it is of another one or wrong.
int checked_nodes(const logs::NcclTable& table, const topology::Instance& on) {
  refuse_other_accelerator(on, true, table.at);
  if (!on.device_name.empty() && !table.device.empty() && !topology::has_device(on, table.device)) {
    throw fault(
        table.at,
        fmt::format("measured on {}, and a {} has {}", in_quotes(table.device, 60), on.name, on.device_name),
        "name the machine that it was measured on as instance");
  }
  if (!table.wrong_rows.empty()) throw InputError(table.wrong_rows);
  if (table.failed)
    throw fault(table.at, "nccl-tests found wrong values in this table",
                "repair the cluster, and run it again");
  if (table.ranks < 2) throw fault(table.at, "the table does not list its ranks", kWhole);
  const int nodes = nodes_of(table.ranks, table.hosts, on, table.at);
  Warnings faults;
  for (const logs::NcclTime& t : table.times) check_row(table, t, faults);
  if (std::vector<Diagnostic> all = faults.take(); !all.empty()) throw InputError(std::move(all));
  return nodes;
}

/// True unless a group of a job has some of the ranks of several nodes: others may use the same links then.
bool fills_nodes(const logs::NcclTable& table, const topology::Instance& on) {
  std::set<int> nodes;
  for (const int rank : table.members) nodes.insert(rank / on.cores());
  return nodes.size() <= 1 || table.members.size() == nodes.size() * static_cast<std::size_t>(on.cores());
}

std::vector<Point> points_of(const logs::NcclTable& table, const topology::Instance& on) {
  const int nodes = checked_nodes(table, on);
  std::vector<Point> points;
  for (const logs::NcclTime& t : table.times) {
    if (op_of(table, t) == models::CollectiveOp::all_reduce)
      points.push_back({table.ranks, nodes, t.bytes, t.seconds, t.at});
  }
  return points;
}

std::vector<Point> points_of(const logs::NccomTable& table, const topology::Instance& on) {
  refuse_other_accelerator(on, false, table.at);
  std::vector<Point> points;
  if (table.op != to_string(models::CollectiveOp::all_reduce) || !table.ranks || !table.partners.empty())
    return points;
  // Without -N and hosts the command counts as one on one host, which too many ranks disprove.
  const int stated = table.nodes.value_or(0);
  const bool holds = stated > 0 && *table.ranks / stated <= on.host_cores();
  const int nodes = nodes_of(*table.ranks, holds ? stated : 0, on, table.at);
  for (const logs::NccomRow& row : table.rows) {
    if (!row.contradicts) points.push_back({*table.ranks, nodes, row.bytes, row.seconds, row.at});
  }
  return points;
}

template <class Tables>
std::vector<Point> all_points(const Tables& tables, const topology::Instance& on) {
  std::vector<Point> all;
  std::vector<Diagnostic> faults;
  for (const auto& table : tables) {
    try {
      for (Point& p : points_of(table, on)) all.push_back(std::move(p));
    } catch (const InputError& e) {
      faults.insert(faults.end(), e.faults().begin(), e.faults().end());
    }
  }
  if (!faults.empty()) throw InputError(std::move(faults));
  return all;
}

/// The points of all tables of the text. Throws InputError if there is no table, or none with a row.
std::vector<Point> points_in(const std::string& text, const std::string& name, const topology::Instance& on) {
  if (logs::looks_like_nccl_tests(text)) {
    const std::vector<logs::NcclTable> tables = logs::parse_nccl_tests(text, name);
    const bool rows =
        std::any_of(tables.begin(), tables.end(), [](const auto& table) { return !table.times.empty(); });
    if (!rows)
      throw fault(tables.empty() ? SourcePos{name, 0, 0} : tables.front().at,
                  "the table of nccl-tests has no whole row: the output is cut", kWhole);
    return all_points(tables, on);
  }
  if (logs::looks_like_nccom_test(text)) return all_points(logs::parse_nccom_test(text, name), on);
  if (text.find_first_not_of(" \t\r\n") == std::string::npos)
    throw fault({name, 0, 0}, "the file is empty", kWhole);
  if (text.find("# Using devices") != std::string::npos)
    throw fault({name, 0, 0}, "the output of nccl-tests is cut before its table", kWhole);
  throw fault({name, 0, 0},
              "no table of nccl-tests or nccom-test: no line has the headings size, redop, time, algbw and "
              "busbw, and "
              "none starts with size(B)",
              kWhole);
}

/// Words on times of one all-reduce that lie far apart, though not so far that they contradict each other; "" if they
/// do not. `used`: the bus bandwidth that is taken of them.
std::string note_on_spread(const std::vector<Point>& ascending, BytesPerSecond used) {
  constexpr double kWorthANote =
      1.5;  // several times what runs differ by on one network: measuring.json, repeat
  const Point &slowest = ascending.front(), &fastest = ascending.back();
  if (!(fastest.bus() > kWorthANote * slowest.bus())) return "";
  return fmt::format(
      "{}: {} times of {:.4g} MiB on {} nodes lie between {:.4g} (line {}) and {:.4g} GB/s (line {}): their "
      "median, "
      "{:.4g} GB/s, is used, and the interval is wider by their spread",
      printable(slowest.at.file), ascending.size(), slowest.bytes / 0x1p20, slowest.nodes,
      slowest.bus() / 1e9, slowest.at.line, fastest.bus() / 1e9, fastest.at.line, used.value / 1e9);
}

/// Refuses times of one all-reduce of which the fastest is over three times as fast as the slowest: they are of several
/// networks, or of one that changed, and their median is of none.
void refuse_contradiction(const Point& slowest, const Point& fastest) {
  constexpr double kMostApart = 3;
  if (!(fastest.bus() > kMostApart * slowest.bus())) return;
  const auto [first, second] = std::minmax(slowest.at.line, fastest.at.line);
  throw fault({slowest.at.file, second, 1},
              fmt::format("on {} nodes {:.4g} GiB are reduced at {:.4g} GB/s, and in line {} at {:.4g} GB/s",
                          slowest.nodes, slowest.bytes / 0x1p30,
                          (second == slowest.at.line ? slowest : fastest).bus() / 1e9, first,
                          (second == slowest.at.line ? fastest : slowest).bus() / 1e9),
              "keep the table of the network that the job will have");
}

}  // namespace

std::optional<StatedAllReduce> parse_all_reduce(std::string_view text) {
  const std::size_t at = text.find('@');
  const auto gigabytes = number_of(text.substr(0, at));
  if (!gigabytes || !(*gigabytes >= kLeastGigabytes) || *gigabytes > kMostGigabytes) return std::nullopt;
  StatedAllReduce out{gigabytes_per_second(*gigabytes), std::nullopt};
  if (at == std::string_view::npos) return out;
  out.nodes = parse_whole(text.substr(at + 1));
  if (!out.nodes || *out.nodes < 2 || *out.nodes > topology::kMostNodes) return std::nullopt;
  return out;
}

models::MeasuredAllReduce large_all_reduce(const topology::Cluster& cluster, BytesPerSecond bus,
                                           const NetworkSpreads& spreads) {
  return {cluster.instance.name, cluster.nodes,       cluster.cores(), models::kLargeMessage, bus,
          spreads.repeat,        spreads.per_doubling};
}

std::string network_is_assumed(std::string_view measured_on, std::string_view instance) {
  return fmt::format("the all-reduce was measured on {}; the network of {} is assumed", measured_on,
                     instance);
}

TableAllReduce all_reduce_of_table(const std::string& text, const std::string& name,
                                   const topology::Cluster& cluster, const NetworkSpreads& spreads) {
  const topology::Instance& on = cluster.instance;
  std::vector<Point> points = points_in(text, name, on);
  std::erase_if(points, [](const Point& p) { return p.nodes < 2; });
  if (points.empty()) throw fault({name, 0, 0}, "no row of an all-reduce between nodes", kWhole);
  // The nearest number of nodes, then most ranks, then the largest size.
  const auto rank = [&](const Point& p) {
    const double apart = std::abs(std::log2(static_cast<double>(p.nodes) / cluster.nodes));
    return std::tuple(-apart, p.nodes, p.ranks, p.bytes);
  };
  const auto best = rank(*std::max_element(
      points.begin(), points.end(), [&](const Point& a, const Point& b) { return rank(a) < rank(b); }));
  std::erase_if(points, [&](const Point& p) { return rank(p) != best; });
  std::sort(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.bus() < b.bus(); });
  refuse_contradiction(points.front(), points.back());
  double mean = 0, squares = 0;
  const auto count = static_cast<double>(points.size());
  for (const Point& p : points) mean += std::log(p.bus()) / count;
  for (const Point& p : points) squares += std::pow(std::log(p.bus()) - mean, 2);
  // Of an even number the two in the middle, in the logarithm as the spread.
  const Point &below = points[(points.size() - 1) / 2], &above = points[points.size() / 2];
  const BytesPerSecond bus(std::sqrt(below.bus() * above.bus()));
  const double apart = points.size() > 1 ? std::sqrt(squares / (count - 1)) : 0;
  TableAllReduce out{{on.name, below.nodes, below.ranks, Bytes(below.bytes), bus,
                      std::max(spreads.repeat, apart), spreads.per_doubling},
                     below.at,
                     {}};
  if (std::string note = note_on_spread(points, bus); !note.empty()) out.notes.push_back(std::move(note));
  return out;
}

std::vector<logs::MeasuredCollective> points_of_nccl(const std::vector<logs::NcclTable>& tables,
                                                     const topology::Instance& on) {
  std::vector<logs::MeasuredCollective> points;
  std::vector<Diagnostic> faults;
  std::map<std::tuple<std::string, int, int, double>, std::size_t> of_jobs;
  for (const logs::NcclTable& table : tables) {
    try {
      if (!fills_nodes(table, on)) continue;
      const int nodes = checked_nodes(table, on);
      for (const logs::NcclTime& t : table.times) {
        const auto op = op_of(table, t);
        if (!op) continue;
        logs::MeasuredCollective p;
        p.id = fmt::format("{}:{}", t.at.file, t.at.line);
        p.op = to_string(*op);
        p.ranks = table.ranks;
        p.nodes = nodes;
        p.bytes = t.bytes;
        p.seconds = t.seconds;
        p.at = t.at;
        // Of the ranks of a job, the one that came last waited least.
        if (!table.members.empty()) {
          const auto [known, fresh] =
              of_jobs.try_emplace(std::tuple(p.op, p.ranks, p.nodes, p.bytes), points.size());
          if (!fresh) {
            if (p.seconds < points[known->second].seconds) points[known->second] = std::move(p);
            continue;
          }
        }
        points.push_back(std::move(p));
      }
    } catch (const InputError& e) {
      faults.insert(faults.end(), e.faults().begin(), e.faults().end());
    }
  }
  if (!faults.empty()) throw InputError(std::move(faults));
  return points;
}

}  // namespace trnplan::io
