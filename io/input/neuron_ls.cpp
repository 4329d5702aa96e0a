#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "io/input/readers.h"
#include "text/parse.h"

namespace trnplan::io {

namespace {

/// One device as printed.
struct Device {
  int number = 0;
  int cores = 0;
  Bytes memory{};
  std::vector<int> neighbours;
  SourcePos at;
};

/// The file as printed.
struct Listing {
  std::string instance_type;
  SourcePos type_at;
  std::vector<Device> devices;
};

/// The densest Trainium node has 64 chips; the bound keeps a hostile file from asking for more memory.
constexpr int devices_most = 4096;
constexpr int cores_most = 1024;
/// A file with more faults is no neuron-ls output at all.
constexpr std::size_t faults_most = 50;

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// ---- the table ----

struct Cell {
  std::string text;
  int column = 0;  ///< in the line, from 1
};

/// Cells of "| a | b |"; empty when the line is no table row or its last bar is missing.
std::vector<Cell> cells_of(std::string_view line) {
  const std::string_view row = trim(line);
  if (row.size() < 2 || row.front() != '|' || row.back() != '|') return {};
  std::vector<Cell> cells;
  for (const std::string_view cell : split(row.substr(1, row.size() - 2), '|')) {
    const std::string_view text = trim(cell);
    const auto offset = (text.empty() ? cell.data() : text.data()) - line.data();
    cells.push_back({std::string(text), static_cast<int>(offset) + 1});
  }
  return cells;
}

class TableReader {
 public:
  TableReader(const std::string& name, std::vector<Diagnostic>& faults) : name_(name), faults_(faults) {}

  Listing read(const std::string& text) {
    for (const std::string_view line : split(text, '\n')) {
      if (faults_.size() >= faults_most) break;
      ++line_;
      take(line);
    }
    if (state_ == State::before || state_ == State::header) {
      fault(0, "", "no table of Neuron devices was found",
            "give the whole output of neuron-ls or neuron-ls --json-output");
    } else if (state_ == State::rows && faults_.size() < faults_most) {
      fault(0, "", "the table ends without its closing line (+-----+)",
            "the file is cut short: save the whole output of neuron-ls");
    }
    return std::move(listing_);
  }

 private:
  enum class State { before, header, rows, after };

  void take(std::string_view line) {
    const std::string_view content = trim(line);
    constexpr std::string_view type = "instance-type:";
    if (state_ == State::before && content.starts_with(type)) {
      listing_.instance_type = trim(content.substr(type.size()));
      listing_.type_at = at(1);
    }
    if (content.starts_with("+-")) {
      rule();
    } else if (state_ == State::header && content.starts_with('|')) {
      add_header(line);
    } else if (state_ == State::rows ? !content.empty()
                                     : state_ == State::after && content.starts_with('|')) {
      state_ = State::rows;
      add_row(line);
    }
  }

  /// A "+----+" line: the first opens the header, the second the rows; one after a row ends the table, unless
  /// more rows follow (with processes printed, rules stand between devices).
  void rule() {
    if (state_ == State::before) {
      state_ = State::header;
    } else if (state_ == State::header) {
      find_columns();
      state_ = State::rows;
    } else {
      state_ = State::after;
    }
  }

  void add_header(std::string_view line) {
    const std::vector<Cell> cells = cells_of(line);
    header_.resize(std::max(header_.size(), cells.size()));
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (!header_[i].empty() && !cells[i].text.empty()) header_[i] += ' ';
      header_[i] += cells[i].text;
    }
  }

  std::optional<std::size_t> column(std::string_view title) const {
    const auto found = std::find(header_.begin(), header_.end(), title);
    if (found == header_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - header_.begin());
  }

  void find_columns() {
    device_ = column("NEURON DEVICE");
    cores_ = column("NEURON CORES");
    memory_ = column("NEURON MEMORY");
    connected_ = column("CONNECTED DEVICES");
    core_ids_ = column("NEURON CORE IDS");
    const std::pair<std::optional<std::size_t>, const char*> needed[] = {
        {device_, "NEURON DEVICE"}, {cores_, "NEURON CORES"}, {memory_, "NEURON MEMORY"}};
    for (const auto& [place, title] : needed) {
      if (!place)
        fault(0, title, "the table has no such column", "give the output of neuron-ls without changes");
    }
  }

  void add_row(std::string_view line) {
    const std::vector<Cell> cells = cells_of(line);
    if (cells.size() != header_.size()) {
      fault(1, "",
            "this row has " + std::to_string(cells.size()) + " cells, the header has " +
                std::to_string(header_.size()),
            "the file is cut short or edited: save the whole output of neuron-ls");
      return;
    }
    if (!device_ || !cores_ || !memory_) return;
    if (cells[*device_].text.empty()) return;  // a further process of the device above
    Device device;
    device.at = at(cells[*device_].column);
    const auto number = whole(cells[*device_], "NEURON DEVICE", devices_most - 1);
    const auto cores = whole(cells[*cores_], "NEURON CORES", cores_most);
    const auto memory = memory_of(cells[*memory_]);
    if (!number || !cores || !memory) return;
    device.number = *number;
    device.cores = *cores;
    device.memory = *memory;
    if (core_ids_) check_core_ids(cells[*core_ids_], device);
    if (connected_) device.neighbours = neighbours_of(cells[*connected_]);
    listing_.devices.push_back(std::move(device));
  }

  std::optional<int> whole(const Cell& cell, const char* key, int most) {
    const auto value = parse_whole(cell.text);
    if (value && *value <= most) return value;
    fault(cell.column, key, in_quotes(cell.text) + " is not a whole number up to " + std::to_string(most),
          "give the output of neuron-ls without changes");
    return std::nullopt;
  }

  /// neuron-ls prints powers of two as "32 GB" (--json-output says 34359738368).
  std::optional<Bytes> memory_of(const Cell& cell) {
    const std::string_view text = cell.text;
    const std::size_t space = text.find(' ');
    const auto amount = parse_whole(text.substr(0, space));
    const std::string_view unit = space == std::string_view::npos ? "" : trim(text.substr(space));
    if (amount && *amount > 0 && (unit == "GB" || unit == "GiB")) return gibibytes(*amount);
    if (amount && *amount > 0 && (unit == "MB" || unit == "MiB")) return mebibytes(*amount);
    fault(cell.column, "NEURON MEMORY", in_quotes(text) + " is not a size", "a size looks like \"32 GB\"");
    return std::nullopt;
  }

  /// Placement counts on consecutive core numbers: device d holds cores d*n to d*n + n-1.
  void check_core_ids(const Cell& cell, const Device& device) {
    const int first = device.number * device.cores;
    const int last = first + device.cores - 1;
    const std::string expected =
        first >= last ? std::to_string(first) : std::to_string(first) + "-" + std::to_string(last);
    if (cell.text == expected) return;
    fault(cell.column, "NEURON CORE IDS",
          "device " + std::to_string(device.number) + " lists cores " + in_quotes(cell.text) + ", " +
              expected + " was expected",
          "give the output of a whole node, taken outside any container that hides cores");
  }

  std::vector<int> neighbours_of(const Cell& cell) {
    std::vector<int> neighbours;
    if (cell.text.empty() || cell.text == "-" || cell.text == "None") return neighbours;
    for (const std::string_view part : split(cell.text, ',')) {
      const auto number =
          whole({std::string(trim(part)), cell.column}, "CONNECTED DEVICES", devices_most - 1);
      if (number) neighbours.push_back(*number);
    }
    return neighbours;
  }

  SourcePos at(int column) const { return {name_, line_, column}; }
  void fault(int column, std::string key, std::string problem, std::string fix) {
    faults_.push_back({column == 0 ? SourcePos{name_, line_, 1} : at(column), std::move(key),
                       std::move(problem), std::move(fix)});
  }

  std::string name_;
  std::vector<Diagnostic>& faults_;
  State state_ = State::before;
  int line_ = 0;
  std::vector<std::string> header_;
  std::optional<std::size_t> device_, cores_, memory_, connected_, core_ids_;
  Listing listing_;
};

// ---- JSON ----

Listing read_json(const Node& root, std::vector<Diagnostic>& faults) {
  Listing listing;
  listing.type_at = root.at;
  for (std::size_t i = 0; i < root.items.size(); ++i) {
    const std::size_t before = faults.size();
    const std::string where = "[" + std::to_string(i) + "]";
    MapReader map(root.items[i], where, faults);
    Device device;
    device.at = root.items[i].at;
    device.number = map.required_whole("neuron_device", 0, devices_most - 1);
    device.cores = map.required_whole("nc_count", 1, cores_most);
    device.memory = Bytes(map.required_number("memory_size", 1, 1e15));
    const Node* connected = map.raw("connected_to");
    if (connected != nullptr && !connected->is_null() && connected->kind != Node::Kind::sequence) {
      map.fault("connected_to", "a list of devices or null was expected",
                "give the output of neuron-ls without changes");
    } else if (connected != nullptr) {
      for (const Node& item : connected->items) {
        if (const auto number = whole_of(item); number && *number < devices_most) {
          device.neighbours.push_back(*number);
        } else {
          faults.push_back({item.at, where + ".connected_to", in_quotes(item.scalar) + " is no device number",
                            "give the output of neuron-ls without changes"});
        }
      }
    }
    map.finish(false);  // bdf, processes and other facts that do not matter here
    if (faults.size() == before) listing.devices.push_back(std::move(device));
  }
  if (root.items.empty()) {
    faults.push_back(
        {root.at, "", "the list holds no device", "run neuron-ls on a node with Neuron devices"});
  }
  return listing;
}

// ---- checks ----

bool lists(const Device& device, int other) {
  return std::find(device.neighbours.begin(), device.neighbours.end(), other) != device.neighbours.end();
}

class Checker {
 public:
  Checker(const std::vector<Device>& devices, std::vector<Diagnostic>& faults)
      : devices_(devices), faults_(faults) {}

  /// Sorted devices numbered 0..n-1, or nothing when a fault was found.
  std::optional<std::vector<Device>> run() {
    const std::size_t before = faults_.size();
    std::vector<Device> sorted = numbered();
    if (faults_.size() != before) return std::nullopt;
    for (const Device& d : sorted) check_device(d, sorted);
    if (faults_.size() != before) return std::nullopt;
    return sorted;
  }

 private:
  void fault(const Device& d, const char* key, std::string problem, std::string fix) {
    faults_.push_back({d.at, key, std::move(problem), std::move(fix)});
  }

  std::vector<Device> numbered() {
    std::vector<Device> sorted = devices_;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const Device& a, const Device& b) { return a.number < b.number; });
    int next = 0;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      const Device& d = sorted[i];
      if (i > 0 && d.number == sorted[i - 1].number) {
        fault(d, "device",
              "device " + std::to_string(d.number) + " is listed twice (first at line " +
                  std::to_string(sorted[i - 1].at.line) + ")",
              "list each device once");
        continue;
      }
      if (d.number != next) {
        const std::string missing =
            next == d.number - 1 ? std::to_string(next) + " is"
                                 : std::to_string(next) + " to " + std::to_string(d.number - 1) + " are";
        fault(d, "device", "device " + missing + " missing before device " + std::to_string(d.number),
              "give the output of a healthy node with all its devices");
      }
      next = d.number + 1;
    }
    return sorted;
  }

  void check_device(const Device& d, const std::vector<Device>& all) {
    const Device& first = all.front();
    const std::string name = "device " + std::to_string(d.number);
    if (d.cores < 1 || d.cores != first.cores || d.memory != first.memory) {
      fault(d, "device", name + " differs from device 0 in cores or memory",
            "all devices of a node are equal: check the file");
    }
    std::set<int> seen;
    for (const int other : d.neighbours) {
      const std::string other_name = "device " + std::to_string(other);
      if (other == d.number) {
        fault(d, "connected", name + " lists itself as a neighbour",
              "give the output of neuron-ls without changes");
      } else if (other >= static_cast<int>(all.size())) {
        fault(d, "connected", name + " is connected to " + other_name + ", which is not listed",
              "the file is cut short: save the whole output of neuron-ls");
      } else if (!seen.insert(other).second) {
        fault(d, "connected", name + " lists " + other_name + " twice",
              "give the output of neuron-ls without changes");
      } else if (!lists(all[static_cast<std::size_t>(other)], d.number)) {
        fault(d, "connected",
              name + " lists " + other_name + ", but " + other_name + " does not list " +
                  std::to_string(d.number),
              "a link has two ends: check the file, or the health of the link");
      }
    }
  }

  const std::vector<Device>& devices_;
  std::vector<Diagnostic>& faults_;
};

std::vector<topology::Link> links_of(const std::vector<Device>& devices) {
  std::vector<topology::Link> links;
  for (const Device& d : devices) {
    for (const int other : d.neighbours) {
      if (d.number < other) links.push_back({d.number, other});
    }
  }
  return links;
}

bool same_links(const std::vector<topology::Link>& a, const std::vector<topology::Link>& b) {
  const auto pairs = [](const std::vector<topology::Link>& links) {
    std::set<std::pair<int, int>> set;
    for (const topology::Link& l : links) set.insert(std::minmax(l.chip_a, l.chip_b));
    return set;
  };
  return pairs(a) == pairs(b);
}

/// Gives each printed link the rate that the catalogue states for it alone.
void keep_rates(std::vector<topology::Link>& links, const std::vector<topology::Link>& known) {
  std::map<std::pair<int, int>, BytesPerSecond> rates;
  for (const topology::Link& l : known) rates[std::minmax(l.chip_a, l.chip_b)] = l.per_direction;
  for (topology::Link& l : links) {
    if (const auto rate = rates.find(std::minmax(l.chip_a, l.chip_b)); rate != rates.end())
      l.per_direction = rate->second;
  }
}

/// The printed machine with the catalogue's rates. neuron-ls names no switches: where the catalogue has some,
/// its links stay.
topology::Instance merge(topology::Instance instance, const std::vector<Device>& devices,
                         const SourcePos& at) {
  const auto wrong = [&](const std::string& what, int printed, int known) {
    if (printed == known) return;
    throw InputError(Diagnostic{at, "",
                                "the file shows " + std::to_string(printed) + " " + what + ", " +
                                    instance.name + " has " + std::to_string(known),
                                "give the output of a healthy, whole node of this instance type"});
  };
  wrong("devices", static_cast<int>(devices.size()), instance.chips);
  wrong("cores per device", devices.front().cores, instance.cores_per_chip);
  instance.core.memory = devices.front().memory / devices.front().cores;
  if (instance.switches > 0) return instance;
  std::vector<topology::Link> links = links_of(devices);
  keep_rates(links, instance.links);
  if (!same_links(links, instance.links)) {
    instance.torus_rows = 0;  // the catalogue's drawing no longer shows these links
    instance.torus_columns = 0;
  }
  instance.links = std::move(links);
  return instance;
}

/// The catalogue's instance of this type; trn2 with LNC 1 has an entry of its own.
topology::Instance instance_of(const Catalog& catalog, const std::string& type, int cores_per_device) {
  topology::Instance instance = catalog.instance(type);
  if (instance.cores_per_chip == cores_per_device) return instance;
  const std::vector<std::string> known = catalog.instances();
  const std::string single = type + "-lnc1";
  if (std::find(known.begin(), known.end(), single) == known.end()) return instance;
  topology::Instance other = catalog.instance(single);
  return other.cores_per_chip == cores_per_device ? other : instance;
}

}  // namespace

topology::Instance read_neuron_ls(const std::filesystem::path& path, const Catalog& catalog,
                                  const std::string& instance, const Files& files) {
  const std::string text = files.text(path);
  const std::string name = path.string();
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool json = first != std::string::npos && text[first] == '[';
  std::vector<Diagnostic> faults;
  const Listing listing =
      json ? read_json(parse_document(text, name), faults) : TableReader(name, faults).read(text);
  // Rows that could not be read would only be reported missing once more.
  const auto devices =
      listing.devices.empty() || !faults.empty() ? std::nullopt : Checker(listing.devices, faults).run();
  if (listing.devices.empty() && faults.empty()) {
    faults.push_back(
        {{name, 1, 1}, "", "the table lists no device", "run neuron-ls on a node with Neuron devices"});
  }

  const std::string type = listing.instance_type.empty() ? instance : listing.instance_type;
  const std::vector<std::string> known = catalog.instances();
  if (type.empty()) {
    faults.push_back({{name, 1, 1},
                      "instance-type",
                      "the file does not name the instance type",
                      "state the instance type beside the file (cluster.instance, --instance)"});
  } else if (std::find(known.begin(), known.end(), type) == known.end()) {
    const std::string near = nearest(type, known);
    faults.push_back(
        {listing.type_at.line == 0 ? SourcePos{name, 1, 1} : listing.type_at, "instance-type",
         "unknown instance type " + in_quotes(type),
         near.empty() ? "give the output of a Trainium node" : "did you mean \"" + near + "\"?"});
  }
  if (!faults.empty() || !devices) throw InputError(std::move(faults));
  return merge(instance_of(catalog, type, devices->front().cores), *devices, devices->front().at);
}

}  // namespace trnplan::io
