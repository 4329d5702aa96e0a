// The output of sinfo: one line per node (-N) or per list of nodes, columns by title.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "io/input/cluster_files.h"
#include "io/input/cluster_groups.h"
#include "text/parse.h"

namespace trnplan::io {

namespace {

/// Most names: enough for every node of an UltraCluster in many partitions; bounds the expansion of a hostile
/// list.
constexpr std::size_t names_most = 100'000;
constexpr std::size_t line_most = 1 << 16;
constexpr std::size_t unusable_told = 10;

constexpr const char* how_to = "give the output of: sinfo -N -o \"%N %t %f %P\"";

struct Word {
  std::string_view text;
  int column = 0;  ///< in the line, from 1
};

std::vector<Word> words_of(std::string_view line) {
  std::vector<Word> words;
  constexpr std::string_view gaps = " \t\r|";
  for (std::size_t at = 0; (at = line.find_first_not_of(gaps, at)) != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(gaps, at), line.size());
    words.push_back({line.substr(at, end - at), static_cast<int>(at) + 1});
    at = end;
  }
  return words;
}

// ---- host lists ----

/// Appends prefix + each number of "134,171" or "001-004" + suffix, in which brackets are expanded too. False
/// if the text is no host list or expands to too many.
bool expand(const std::string& prefix, std::string_view rest, std::vector<std::string>& names) {
  const std::size_t open = rest.find('[');
  if (open == std::string_view::npos) {
    if (rest.find(']') != std::string_view::npos || names.size() >= names_most) return false;
    names.push_back(prefix + std::string(rest));
    return !names.back().empty();
  }
  const std::size_t close = rest.find(']', open);
  if (close == std::string_view::npos) return false;
  const std::string head = prefix + std::string(rest.substr(0, open));
  std::string_view ranges = rest.substr(open + 1, close - open - 1);
  while (true) {
    const std::size_t comma = std::min(ranges.find(','), ranges.size());
    const std::string_view range = ranges.substr(0, comma);
    const std::size_t dash = std::min(range.find('-'), range.size());
    const std::string_view low = range.substr(0, dash);
    const auto first = parse_whole(low);
    const auto last = dash == range.size() ? first : parse_whole(range.substr(dash + 1));
    if (!first || !last || *last < *first || static_cast<std::size_t>(*last - *first) >= names_most)
      return false;
    for (std::int64_t i = *first; i <= *last; ++i) {
      std::string number = std::to_string(i);
      if (number.size() < low.size()) number.insert(0, low.size() - number.size(), '0');
      if (!expand(head + number, rest.substr(close + 1), names)) return false;
    }
    if (comma == ranges.size()) return true;
    ranges.remove_prefix(comma + 1);
  }
}

/// Names of "a-[1-2],b": commas inside brackets belong to the range.
std::optional<std::vector<std::string>> hosts_of(std::string_view list) {
  std::vector<std::string> names;
  std::size_t start = 0;
  bool inside = false;
  int brackets = 0;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    const bool end = i == list.size();
    if (!end && list[i] == '[') {
      if (inside || ++brackets > 64) return std::nullopt;
      inside = true;
    }
    if (!end && list[i] == ']') inside = false;
    if (!end && (list[i] != ',' || inside)) continue;
    if (!expand("", list.substr(start, i - start), names)) return std::nullopt;
    start = i + 1;
    brackets = 0;
  }
  return names;
}

// ---- states ----

enum class State { usable, unusable, unknown };

/// State by its first letters, since sinfo shortens long ones, and by the marks after it.
State state_of(std::string_view text) {
  std::string word;
  bool away = false;
  for (const char c : text) {
    if (c == '*' || c == '$') away = true;  // does not answer; reserved for maintenance
    if (c == '+') break;                    // "mixed+planned", "idle+drain": the rest is examined below
    if (std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_')
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  constexpr std::array usable = {"alloc", "idle", "mix", "comp", "resv", "reserved", "plnd", "planned",
                                 // nodes of a cloud that start when they are needed
                                 "pow_up", "power", "pow_dn", "boot"};
  constexpr std::array unusable = {"down",  "drain", "drng", "fail", "maint",  "unk",   "inval",
                                   "block", "futr",  "no_r", "npc",  "reboot", "error", "perfctrs"};
  const auto begins = [](std::string_view w, const auto& list) {
    return std::any_of(list.begin(), list.end(), [&](const char* s) { return w.starts_with(s); });
  };
  for (std::size_t plus = text.find('+'); plus != std::string_view::npos; plus = text.find('+', plus + 1)) {
    std::string flag(text.substr(plus + 1));
    for (char& c : flag) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (begins(flag, unusable)) return State::unusable;
  }
  if (begins(word, unusable)) return State::unusable;
  if (!begins(word, usable)) return State::unknown;
  return away ? State::unusable : State::usable;
}

// ---- the table ----

/// Nodes of one partition and type.
struct Partition {
  ClusterGroup group;
  std::vector<std::string> unusable;
  int listed = 0;
  std::string unknown;  ///< a type that the catalogue does not have
};

class SinfoReader {
 public:
  SinfoReader(std::string name, const MachineNames& known, std::vector<Diagnostic>& faults)
      : name_(std::move(name)), known_(known), faults_(faults) {}

  void read(std::string_view text) {
    while (!text.empty() && faults_.size() < cluster_faults_most) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      ++line_;
      take(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (!faults_.empty()) return;
    if (header_.empty()) {
      fault(1, "", "no line with the titles NODELIST and STATE was found", how_to);
    } else if (partitions_.empty()) {
      fault(1, "", "the table lists no node", how_to);
    }
  }

  /// Partitions; if some nodes name a Trainium type, those that do not are other hardware.
  std::vector<Partition> partitions() const {
    std::vector<Partition> all;
    for (const auto& [key, p] : partitions_) {
      if (!typed_ || !p.group.instance.empty()) all.push_back(p);
    }
    return all;
  }

 private:
  void take(std::string_view line) {
    const auto control = std::find_if(line.begin(), line.end(), [](char c) {
      return (c >= 0 && c < 0x20 && c != '\t' && c != '\r') || c == 0x7f;
    });
    if (control != line.end() || line.size() > line_most) {
      fault(control == line.end() ? 1 : static_cast<int>(control - line.begin()) + 1, "",
            "this line is not part of a table", how_to);
      return;
    }
    const std::vector<Word> words = words_of(line);
    if (words.empty()) return;
    if (is_header(words)) {
      take_header(words);
    } else if (!header_.empty()) {
      take_row(words);
    }  // before the header: a prompt or the date of sinfo -l
  }

  static bool titled(const Word& w, std::string_view title) { return w.text == title; }
  static bool is_header(const std::vector<Word>& words) {
    return std::any_of(words.begin(), words.end(), [](const Word& w) {
      return titled(w, "NODELIST") || titled(w, "HOSTNAMES") || titled(w, "STATE");
    });
  }

  /// Reads the titles, which are cut if the column is narrow: AVAIL_FE for AVAIL_FEATURES.
  void take_header(const std::vector<Word>& words) {
    if (!header_.empty()) return;  // the same again, from several concatenated outputs
    for (const Word& w : words) header_.emplace_back(w.text);
    const auto column = [&](const auto& fits) -> std::optional<std::size_t> {
      const auto found = std::find_if(header_.begin(), header_.end(), fits);
      if (found == header_.end()) return std::nullopt;
      return static_cast<std::size_t>(found - header_.begin());
    };
    const auto named = [&](std::string_view a) {
      return column([=](const std::string& h) { return h == a; });
    };
    node_ = named("NODELIST") ? named("NODELIST") : named("HOSTNAMES");
    state_ = named("STATE");
    partition_ = named("PARTITION");
    count_ = named("NODES");
    gres_ = named("GRES");
    features_ = column([](const std::string& h) {
      return h == "FEATURES" || h.starts_with("AVAIL_F") || h.starts_with("ACTIVE_F");
    });
    if (!node_) fault(1, "NODELIST", "the table has no such column", how_to);
    if (!state_)
      fault(1, "STATE", "the table has no such column, so usable nodes cannot be recognised", how_to);
  }

  void take_row(const std::vector<Word>& words) {
    // A reason at the end of sinfo -l may have several words.
    const bool longer = words.size() > header_.size() && header_.back() == "REASON";
    if (words.size() != header_.size() && !longer) {
      fault(words.front().column, "",
            "this row has " + std::to_string(words.size()) + " words, the header has " +
                std::to_string(header_.size()),
            "the file is cut short or wrapped: save the output of sinfo as it is");
      return;
    }
    if (!node_ || !state_) return;
    const auto hosts = hosts_of(words[*node_].text);
    if (!hosts) {
      fault(words[*node_].column, "NODELIST", in_quotes(words[*node_].text) + " is not a list of nodes",
            how_to);
      return;
    }
    if (count_ && parse_whole(words[*count_].text) != static_cast<int>(hosts->size())) {
      fault(words[*count_].column, "NODES",
            in_quotes(words[*count_].text) + " nodes are stated, " + std::to_string(hosts->size()) +
                " are listed",
            "the file is cut short or wrapped: save the output of sinfo as it is");
      return;
    }
    add(*hosts, words);
  }

  void add(const std::vector<std::string>& hosts, const std::vector<Word>& words) {
    const Word& state = words[*state_];
    const State kind = state_of(state.text);
    if (kind == State::unknown) {
      fault(state.column, "STATE", in_quotes(state.text) + " is not a state of a node", how_to);
      return;
    }
    std::string_view name = partition_ ? words[*partition_].text : std::string_view();
    if (name.ends_with('*')) name.remove_suffix(1);  // marks the default partition
    const std::string type = features_ ? type_of(words[*features_].text) : std::string();
    if (!type.empty()) typed_ = true;
    const std::string label = name.empty() ? "all" : std::string(name);
    Partition& p = partitions_[{label, type}];
    if (p.listed == 0) p.group = {label, type, 0, {}, {name_, line_, state.column}};
    if (type.empty() && p.unknown.empty()) p.unknown = unknown_type(words);
    for (const std::string& host : hosts) {
      if (listed_.size() >= names_most || !listed_.insert(label + "/" + host).second) {
        fault(words[*node_].column, "NODELIST",
              listed_.size() >= names_most
                  ? "the table lists more nodes than any cluster has"
                  : in_quotes(host) + " is listed twice in partition " + in_quotes(label),
              "list each node once");
        return;
      }
      ++p.listed;
      if (kind == State::usable) ++p.group.hosts;
      if (kind == State::unusable && p.unusable.size() <= unusable_told)
        p.unusable.push_back(printable(host, 60) + " (" + printable(state.text, 30) + ")");
    }
  }

  /// The Trainium type among features such as "dynamic,ml.trn1.32xlarge,queue1-i1".
  std::string type_of(std::string_view features) const {
    while (!features.empty()) {
      const std::size_t comma = std::min(features.find(','), features.size());
      if (const auto type = known_.find(features.substr(0, comma))) return *type;
      features.remove_prefix(std::min(comma + 1, features.size()));
    }
    return {};
  }

  /// Kind of the row's nodes if that is not a name of the catalogue; "" if the row does not state it.
  std::string unknown_type(const std::vector<Word>& words) const {
    std::string_view features = features_ ? words[*features_].text : std::string_view();
    std::string gpu;
    while (!features.empty()) {
      const std::size_t comma = std::min(features.find(','), features.size());
      const std::string_view one = features.substr(0, comma);
      if (is_ec2_type(one)) return std::string(one);
      if (gpu.empty() && is_gpu(one)) gpu = one;
      features.remove_prefix(std::min(comma + 1, features.size()));
    }
    if (!gpu.empty() || !gres_) return gpu;
    const std::string_view resources = words[*gres_].text;
    return resources.starts_with("gpu") ? std::string(resources.substr(0, resources.find('('))) : gpu;
  }

  /// True for EC2's spelling: "ml.p6e-gb200.36xlarge".
  static bool is_ec2_type(std::string_view word) {
    const std::size_t dot = word.rfind('.');
    return dot != std::string_view::npos && dot > 0 && word.ends_with("xlarge");
  }
  /// True for NVIDIA's names of its parts: "h100", "gb200".
  static bool is_gpu(std::string_view word) {
    const std::size_t digits = word.find_first_of("0123456789");
    return digits >= 1 && digits <= 2 && word.size() >= digits + 3 && word.size() <= digits + 4 &&
           word.find_first_not_of("0123456789", digits) >= digits + 3;
  }

  void fault(int column, std::string key, std::string problem, std::string fix) {
    faults_.push_back(
        {{name_, std::max(line_, 1), column}, std::move(key), std::move(problem), std::move(fix)});
  }

  std::string name_;
  const MachineNames& known_;
  std::vector<Diagnostic>& faults_;
  int line_ = 0;
  bool typed_ = false;
  std::vector<std::string> header_;
  std::optional<std::size_t> node_, state_, partition_, count_, features_, gres_;
  std::map<std::pair<std::string, std::string>, Partition> partitions_;
  std::set<std::string> listed_;
};

std::string note_on(const Partition& p) {
  std::string text = "partition " + printable(p.group.name, 60) + ": " + std::to_string(p.group.hosts) +
                     " of " + std::to_string(p.listed) + " nodes usable";
  for (std::size_t i = 0; i < p.unusable.size() && i < unusable_told; ++i)
    text += (i == 0 ? "; left out: " : ", ") + p.unusable[i];
  return text + (p.unusable.size() > unusable_told ? ", ..." : "");
}

}  // namespace

ClusterReading read_sinfo(const std::filesystem::path& path, const Catalog& catalog, const std::string& group,
                          const Files& files) {
  const std::string text = files.text(path);
  std::vector<Diagnostic> faults;
  const MachineNames known(catalog);
  SinfoReader reader(path.string(), known, faults);
  reader.read(text);
  std::optional<ClusterGroup> chosen;
  const std::vector<Partition> partitions = reader.partitions();
  if (faults.empty()) {
    std::vector<ClusterGroup> groups;
    for (const Partition& p : partitions) groups.push_back(p.group);
    chosen = choose_group(groups, group, "partition", {path.string(), 1, 1}, faults);
  }
  ClusterReading reading;
  if (chosen) reading = reading_of(*chosen, catalog, {}, faults);
  if (!faults.empty()) throw InputError(std::move(faults));
  for (const Partition& p : partitions) {
    if (p.group.name != chosen->name || p.group.instance != chosen->instance) continue;
    reading.unknown = p.unknown;
    if (!p.unusable.empty()) reading.notes.push_back(note_on(p));
  }
  return reading;
}

}  // namespace trnplan::io
