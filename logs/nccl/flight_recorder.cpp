#include "logs/nccl/flight_recorder.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "logs/nccom/bounds.h"
#include "logs/nccom/collective_groups.h"
#include "models/collective/collective_timing.h"
#include "text/figures.h"
#include "text/log_lines.h"
#include "text/parse.h"

namespace trnplan::logs {

namespace {

constexpr std::size_t kGroupsMost = 10'000, kSizesMost = 100'000, kMembersMost = 1 << 17,
                      kMembersInAll = 1 << 22;
constexpr double kMilli = 1e-3;

/// The numbers of "[0, 1, 2]", ascending.
std::vector<int> ranks_of(std::string_view text) {
  std::vector<int> ranks;
  while (ranks.size() < kMembersMost) {
    const std::size_t start = text.find_first_of("0123456789");
    if (start == std::string_view::npos) break;
    text.remove_prefix(start);
    const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
    if (const auto rank = parse_whole(text.substr(0, end))) ranks.push_back(*rank);
    text.remove_prefix(end);
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

/// Digits that end the name: "nccl_trace_rank_3", perhaps before ".json".
int rank_of_file(std::string_view name) {
  name = name.substr(0, name.size() - (name.ends_with(".json") ? 5 : 0));
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;  // 0 if all are
  return parse_whole(name.substr(digits)).value_or(-1);
}

/// Bytes of tensors of these sizes.
double bytes_of(const std::vector<double>& elements, const std::vector<std::string>& types) {
  double bytes = 0;
  for (std::size_t i = 0; i < elements.size() && !types.empty(); ++i)
    bytes += elements[i] * torch_scalar_bytes(types[std::min(i, types.size() - 1)]);
  return bytes;
}

/// A list of ranks in words: "rank 3", "ranks 0-2, 7".
std::string ranks_text(const std::vector<int>& ranks) {
  constexpr std::size_t kShown = 8;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  std::size_t shown = 0;
  for (std::size_t i = 0; i < ranks.size(); ++shown) {
    if (shown == kShown) return text + fmt::format(" and {} more", ranks.size() - i);
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    text += shown == 0 ? "" : ", ";
    text += last == i ? fmt::format("{}", ranks[i]) : fmt::format("{}-{}", ranks[i], ranks[last]);
    i = last + 1;
  }
  return text;
}

struct Entry {
  std::string group, description;
  TimedOperation operation;
  std::vector<double> in, out;
  std::vector<std::string> in_types, out_types;
  std::optional<double> seconds;
  std::int64_t number = -1;
  std::string state;
  bool between_two = false;
};

class DumpReader {
 public:
  DumpReader(JsonReader& json, const std::string& name, Samples& out) : json_(json), name_(name), out_(out) {
    reading_.dump.at = {name, 0, 0};
    reading_.dump.rank = rank_of_file(name);
  }

  FlightReading read() {
    json_.object([&](std::string_view key) {
      if (key == "pg_config") read_config();
      if (key == "entries") json_.array([&] { read_entry(); });
    });
    finish();
    return std::move(reading_);
  }

 private:
  void read_config() {
    json_.object([&](std::string_view name) {
      FlightGroup* group = group_of(name);
      json_.object([&](std::string_view key) {
        if (key == "desc" && group != nullptr) group->description = printable(json_.text(80), 80);
        if (key != "ranks" || group == nullptr) return;
        std::vector<int> ranks = ranks_of(json_.text(std::size_t{1} << 20));
        members_ += ranks.size();
        if (members_ <= kMembersInAll) group->ranks = std::move(ranks);
      });
    });
  }

  FlightGroup* group_of(std::string_view name) {
    auto& groups = reading_.dump.groups;
    const std::string key = printable(name, 80);
    if (groups.size() == kGroupsMost && !groups.contains(key)) return nullptr;
    return &groups[key];
  }

  void read_sizes(std::vector<double>& elements) {
    json_.array([&] {
      double product = 1;
      json_.array([&] { product *= std::max(json_.number().value_or(0), 0.0); });
      if (elements.size() < kMembersMost) elements.push_back(product);
    });
  }

  void read_types(std::vector<std::string>& types) {
    json_.array([&] {
      std::string type = json_.text(20);
      if (types.size() < kMembersMost) types.push_back(std::move(type));
    });
  }

  void read_entry() {
    Entry e;
    const int line = json_.line();
    json_.object([&](std::string_view key) {
      if (key == "process_group") {
        json_.array([&] {
          std::string text = json_.text(80);
          (e.group.empty() ? e.group : e.description) = std::move(text);
        });
      } else if (key == "profiling_name") {
        const std::string name = json_.text(80);  // "nccl:all_reduce", "nccl:send 1->2"
        e.operation.op = name.substr(name.find(':') + 1);
        e.operation.op.resize(std::min(e.operation.op.find(' '), e.operation.op.size()));
      } else if (key == "input_sizes") {
        read_sizes(e.in);
      } else if (key == "output_sizes") {
        read_sizes(e.out);
      } else if (key == "input_dtypes") {
        read_types(e.in_types);
      } else if (key == "output_dtypes") {
        read_types(e.out_types);
      } else if (key == "duration_ms") {
        if (const auto ms = json_.number()) e.seconds = *ms * kMilli;
      } else if (key == "collective_seq_id") {
        e.number = json_.whole().value_or(-1);
      } else if (key == "state") {
        e.state = json_.text(20);
      } else if (key == "is_p2p") {
        e.between_two = json_.word() == "true";
      }
    });
    if (e.operation.op.empty() || e.state.empty()) return;
    ++entries_;
    const double bytes = std::max(bytes_of(e.in, e.in_types), bytes_of(e.out, e.out_types));
    e.operation.bytes = bytes >= 0 && bytes <= kBytesMost ? bytes : 0;  // not a number neither
    reading_.dump.starts |= e.seconds.has_value() || e.state == "started";
    e.operation.type = e.in_types.empty() ? "" : e.in_types.front();
    if (FlightGroup* group = group_of(e.group)) note(*group, e);
    if (e.seconds && kept_.size() < kSizesMost) keep(e, line);
  }

  static void note(FlightGroup& group, const Entry& e) {
    if (group.description.empty()) group.description = printable(e.description, 80);
    if (e.between_two || e.number < 0) return;
    group.called = std::max(group.called, e.number);
    if (e.state == "completed" || (group.pending && group.pending->number <= e.number)) return;
    group.pending = {e.number, operation_name(e.operation.op), e.operation.bytes, e.state == "started"};
  }

  void keep(const Entry& e, int line) {
    ++timed_;
    const auto key = std::tuple(printable(e.group, 80), e.operation.op, e.operation.type, e.operation.bytes);
    auto& times = kept_.try_emplace(key, std::vector<double>(), line).first->second;
    if (times.first.size() < kKept) times.first.push_back(*e.seconds);
  }

  /// The ranks of the groups stand behind the entries.
  void finish() {
    CollectiveGroups groups;
    for (const auto& [key, times] : kept_) {
      const auto& [name, op, type, bytes] = key;
      const auto group = reading_.dump.groups.find(name);
      if (group == reading_.dump.groups.end()) continue;
      const std::vector<int>& members = group->second.ranks;
      TimedOperation o{op,    type, "", static_cast<int>(std::min<std::size_t>(members.size(), kRanksMost)),
                       bytes, 0};
      const SourcePos at{name_, times.second, 1};
      std::optional<double> least;  // of those that the groups accept
      for (const double seconds : times.first) {
        o.seconds = seconds;
        if (groups.add(o, at)) least = std::min(least.value_or(seconds), seconds);
      }
      if (least) add_row(members, operation_name(op), bytes, *least, at);
    }
    groups.finish(out_);
    if (entries_ > 0 && timed_ == 0)
      out_.warnings.add(
          {name_, 0, 0}, "entries",
          fmt::format("{} without a duration: this says where a run hangs, and no time of a collective",
                      counted(entries_, "collective")),
          "set TORCH_NCCL_ENABLE_TIMING=1 in the run for times");
  }

  void add_row(const std::vector<int>& members, const std::string& op, double bytes, double seconds,
               const SourcePos& at) {
    using enum models::CollectiveOp;
    const int ranks = static_cast<int>(members.size());
    for (const models::CollectiveOp known : {all_reduce, all_gather, reduce_scatter}) {
      if (op != to_string(known) || ranks < 2) continue;
      NcclTable& table = table_of(members, op, at);
      table.reduces = known != all_gather;
      table.times.push_back({bytes, seconds, models::bus_factor(known, ranks), at});
    }
  }

  NcclTable& table_of(const std::vector<int>& members, const std::string& op, const SourcePos& at) {
    const std::string program = op + "_perf";
    if (!reading_.tables.empty()) {  // entries are kept by group and operation
      NcclTable& last = reading_.tables.back();
      if (last.program == program && last.members == members) return last;
    }
    NcclTable& t = reading_.tables.emplace_back();
    t.ranks = static_cast<int>(members.size());
    t.members = members;
    t.program = program;
    t.at = at;
    return t;
  }

  JsonReader& json_;
  const std::string& name_;
  Samples& out_;
  FlightReading reading_;
  std::size_t entries_ = 0, timed_ = 0, members_ = 0;
  /// Seconds and the line of the first, by group, operation, type and bytes.
  std::map<std::tuple<std::string, std::string, std::string, double>, std::pair<std::vector<double>, int>>
      kept_;
};

/// What the dumps say of one group.
class HungGroup {
 public:
  void add(const FlightDump& dump, const FlightGroup& group) {
    views_.emplace_back(&dump, &group);
    members_.insert(group.ranks.begin(), group.ranks.end());
  }

  [[nodiscard]] std::optional<Diagnostic> finding(const std::string& name) const {
    const auto first = std::min_element(views_.begin(), views_.end(), [](const View& a, const View& b) {
      return number_of(*a.second) < number_of(*b.second);
    });
    if (!first->second->pending) return std::nullopt;
    const FlightGroup::Pending& hung = *first->second->pending;
    std::vector<int> missing, started, waiting, others;
    std::set<int> silent = members_;
    if (std::any_of(views_.begin(), views_.end(), [](const View& v) { return v.first->rank < 0; }))
      silent.clear();
    for (const auto& [dump, group] : views_) {
      silent.erase(dump->rank);
      if (dump->rank < 0) continue;
      const bool at_it = group->pending && group->pending->number == hung.number;
      if (group->called < hung.number) {
        missing.push_back(dump->rank);
      } else if (at_it && group->pending->op != hung.op) {
        others.push_back(dump->rank);
      } else if (at_it) {
        (group->pending->started ? started : waiting).push_back(dump->rank);
      }
    }
    std::string text = fmt::format(
        "{} {} of group {}{}, {:.0f} bytes, had not completed", hung.op, hung.number, name,
        first->second->description.empty() ? "" : " (" + first->second->description + ")", hung.bytes);
    const auto say = [&](std::vector<int> ranks, const char* what) {
      std::sort(ranks.begin(), ranks.end());
      if (!ranks.empty()) text += fmt::format("; {} {}", ranks_text(ranks), what);
    };
    say(missing, "did not call it");
    say(others, "called another operation in its place");
    say(started, "started it");
    const bool starts =
        std::any_of(views_.begin(), views_.end(), [](const View& v) { return v.first->starts; });
    say(waiting, !starts               ? "called it"
                 : waiting.size() == 1 ? "called it, and its GPU did not start it"
                                       : "called it, and their GPUs did not start it");
    if (!silent.empty())
      text += fmt::format("; no dump of {} is given", ranks_text({silent.begin(), silent.end()}));
    return Diagnostic{first->first->at, "", std::move(text), fix(missing, others, silent)};
  }

 private:
  using View = std::pair<const FlightDump*, const FlightGroup*>;

  static std::int64_t number_of(const FlightGroup& group) {
    return group.pending ? group.pending->number : std::numeric_limits<std::int64_t>::max();
  }

  static std::string fix(const std::vector<int>& missing, const std::vector<int>& others,
                         const std::set<int>& silent) {
    if (!others.empty()) return "let all ranks of the group call the same operations in the same order";
    if (!missing.empty()) return "look at the logs and the threads of " + ranks_text(missing);
    return silent.empty() ? "all ranks called it: look at the network and the GPUs"
                          : "give the dumps of all ranks; one that left none has ended, or hangs elsewhere";
  }

  std::vector<View> views_;
  std::set<int> members_;
};

}  // namespace

FlightReading read_flight_dump(JsonReader& json, const std::string& name, Samples& out) {
  return DumpReader(json, name, out).read();
}

std::vector<Diagnostic> hung_collectives(const std::vector<FlightDump>& dumps) {
  std::map<std::pair<std::string, std::vector<int>>, HungGroup> groups;  // disjoint groups may have one name
  std::vector<Diagnostic> all;
  std::map<std::pair<int, std::string>, const FlightDump*>
      known;  // by rank, or by file where it is not known
  for (const FlightDump& dump : dumps) {
    const auto [first, fresh] = known.try_emplace({dump.rank, dump.rank < 0 ? dump.at.file : ""}, &dump);
    if (!fresh) {
      const std::string of = dump.rank < 0 ? "this file" : ranks_text({dump.rank});
      all.push_back({dump.at, "",
                     fmt::format("left out: a second dump of {}; the first is {}", of,
                                 printable(first->second->at.file, 200)),
                     "give one dump of each rank, all of one run"});
      continue;
    }
    for (const auto& [name, group] : dump.groups) groups[{name, group.ranks}].add(dump, group);
  }
  for (const auto& [key, group] : groups) {
    if (auto finding = group.finding(key.first)) all.push_back(*std::move(finding));
  }
  return all;
}

}  // namespace trnplan::logs
