#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "io/input/neuron_ls_listing.h"
#include "io/input/readers.h"

namespace trnplan::io {

namespace {

// ---- JSON ----

DeviceListing read_json(const Node& root, std::vector<Diagnostic>& faults) {
  DeviceListing listing;
  listing.type_at = root.at;
  for (std::size_t i = 0; i < root.items.size(); ++i) {
    const std::size_t before = faults.size();
    const std::string where = "[" + std::to_string(i) + "]";
    MapReader map(root.items[i], where, faults);
    ListedDevice device;
    device.at = root.items[i].at;
    device.number = map.required_whole("neuron_device", 0, kMostDevices - 1);
    device.cores = map.required_whole("nc_count", 1, kMostDeviceCores);
    device.memory = Bytes(map.required_number("memory_size", 1, 1e15));
    const Node* connected = map.raw("connected_to");
    if (connected != nullptr && !connected->is_null() && connected->kind != Node::Kind::sequence) {
      map.fault("connected_to", "a list of devices or null was expected",
                "give the output of neuron-ls without changes");
    } else if (connected != nullptr) {
      for (const Node& item : connected->items) {
        if (const auto number = whole_of(item); number && *number < kMostDevices) {
          device.neighbours.push_back(*number);
        } else {
          faults.push_back({item.at, where + ".connected_to",
                            in_quotes(item.scalar) + " is not a device number",
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

bool lists(const ListedDevice& device, int other) {
  return std::find(device.neighbours.begin(), device.neighbours.end(), other) != device.neighbours.end();
}

class DeviceChecker {
 public:
  DeviceChecker(const std::vector<ListedDevice>& devices, std::vector<Diagnostic>& faults)
      : devices_(devices), faults_(faults) {}

  /// Sorted devices numbered 0..n-1, or nothing when a fault was found.
  std::optional<std::vector<ListedDevice>> run() {
    const std::size_t before = faults_.size();
    std::vector<ListedDevice> sorted = numbered();
    if (faults_.size() != before) return std::nullopt;
    for (const ListedDevice& d : sorted) check_device(d, sorted);
    if (faults_.size() != before) return std::nullopt;
    return sorted;
  }

 private:
  void fault(const ListedDevice& d, const char* key, std::string problem, std::string fix) {
    faults_.push_back({d.at, key, std::move(problem), std::move(fix)});
  }

  std::vector<ListedDevice> numbered() {
    std::vector<ListedDevice> sorted = devices_;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const ListedDevice& a, const ListedDevice& b) { return a.number < b.number; });
    int next = 0;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      const ListedDevice& d = sorted[i];
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

  void check_device(const ListedDevice& d, const std::vector<ListedDevice>& all) {
    const ListedDevice& first = all.front();
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
              "a link has two ends: check the file, or the link itself");
      }
    }
  }

  const std::vector<ListedDevice>& devices_;
  std::vector<Diagnostic>& faults_;
};

std::vector<topology::Link> links_of(const std::vector<ListedDevice>& devices) {
  std::vector<topology::Link> links;
  for (const ListedDevice& d : devices) {
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

/// Gives each printed link the rate that the catalogue states for that very link.
void keep_rates(std::vector<topology::Link>& links, const std::vector<topology::Link>& known) {
  std::map<std::pair<int, int>, BytesPerSecond> rates;
  for (const topology::Link& l : known) rates[std::minmax(l.chip_a, l.chip_b)] = l.per_direction;
  for (topology::Link& l : links) {
    if (const auto rate = rates.find(std::minmax(l.chip_a, l.chip_b)); rate != rates.end())
      l.per_direction = rate->second;
  }
}

/// The printed machine with the catalogue's rates. neuron-ls names no switches: if the catalogue has some,
/// its links stay.
topology::Instance merge(topology::Instance instance, const std::vector<ListedDevice>& devices,
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
  const DeviceListing listing =
      json ? read_json(parse_document(text, name), faults) : read_neuron_ls_table(text, name, faults);
  // Rows that could not be read would only be reported as missing again.
  const auto devices = listing.devices.empty() || !faults.empty()
                           ? std::nullopt
                           : DeviceChecker(listing.devices, faults).run();
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
                      "state the instance type as well (cluster.instance, --instance)"});
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
