#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "io/input/neuron_ls_listing.h"
#include "text/parse.h"

namespace trnplan::io {

namespace {

/// Most faults reported: a file with more is no neuron-ls output at all.
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

struct Cell {
  std::string text;
  int column = 0;  ///< in the line, from 1
};

/// Cells of "| a | b |"; empty if the line is no table row or its last bar is missing.
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

  DeviceListing read(const std::string& text) {
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

  /// Handles a "+----+" line: the first opens the header, the second the rows; one after a row ends the
  /// table, unless more rows follow (with processes printed, there are rules between devices).
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
    ListedDevice device;
    device.at = at(cells[*device_].column);
    const auto number = whole(cells[*device_], "NEURON DEVICE", kMostDevices - 1);
    const auto cores = whole(cells[*cores_], "NEURON CORES", kMostDeviceCores);
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

  /// Memory of a device: neuron-ls prints powers of two as "32 GB" (--json-output says 34359738368).
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

  /// Checks core numbers: placement assumes consecutive ones, device d with cores d*n to d*n + n-1.
  void check_core_ids(const Cell& cell, const ListedDevice& device) {
    const int first = device.number * device.cores;
    const int last = first + device.cores - 1;
    const std::string expected =
        first >= last ? std::to_string(first) : std::to_string(first) + "-" + std::to_string(last);
    if (cell.text == expected) return;
    fault(cell.column, "NEURON CORE IDS",
          "device " + std::to_string(device.number) + " lists cores " + in_quotes(cell.text) + ", " +
              expected + " was expected",
          "give the output of a whole node, made outside any container that hides cores");
  }

  std::vector<int> neighbours_of(const Cell& cell) {
    std::vector<int> neighbours;
    if (cell.text.empty() || cell.text == "-" || cell.text == "None") return neighbours;
    for (const std::string_view part : split(cell.text, ',')) {
      const auto number =
          whole({std::string(trim(part)), cell.column}, "CONNECTED DEVICES", kMostDevices - 1);
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
  DeviceListing listing_;
};

}  // namespace

DeviceListing read_neuron_ls_table(const std::string& text, const std::string& name,
                                   std::vector<Diagnostic>& faults) {
  return TableReader(name, faults).read(text);
}

}  // namespace trnplan::io
