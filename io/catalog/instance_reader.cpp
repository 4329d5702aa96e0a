#include "io/catalog/instance_reader.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "models/device/devices.h"
#include "text/quantity_reader.h"
#include "units/product.h"

namespace trnplan::io {

namespace {

/// Most chips of a node, far above any; the bound keeps cores() and the tables small.
constexpr int kChipsMost = 4096;

/// Reads a word that stands for a value of `E` in the files.
template <class E, std::size_t N>
E word_of(MapReader& fields, const char* key, const E (&known)[N]) {
  const std::string text = fields.required_text(key);
  std::string all;
  for (const E e : known) {
    if (text == to_string(e)) return e;
    all += (all.empty() ? "" : ", ") + std::string(to_string(e));
  }
  if (!text.empty())
    fields.fault(key, in_quotes(text) + " is not one of the known kinds", "write one of: " + all);
  return known[0];
}

topology::Traits traits_from(MapReader& map, std::vector<Diagnostic>& faults) {
  using namespace topology;
  const Node* node = map.raw("traits");
  if (node == nullptr) {
    map.fault("traits", "this key is missing", "state the kind of machine, as catalog/instances do");
    return {};
  }
  MapReader fields(*node, "traits", faults);
  Traits t;
  t.accelerator = word_of(fields, "accelerator", {Accelerator::neuron_core, Accelerator::gpu});
  t.rank_order =
      word_of(fields, "rank_order",
              {RankOrderRule::row_major, RankOrderRule::columns_of_four, RankOrderRule::half_instances});
  t.groups = word_of(
      fields, "groups",
      {GroupRule::torus_ring, GroupRule::logic2_mesh, GroupRule::any_group, GroupRule::not_published});
  t.collectives = word_of(fields, "collectives", {CollectiveRuntime::neuron, CollectiveRuntime::nccl});
  t.adjacent_kv_copies = fields.boolean("adjacent_kv_copies", false);
  t.flat_ring = fields.boolean("flat_ring", false);
  t.logical_cores = fields.boolean("logical_cores", false);
  t.in_switch_reduction = fields.boolean("in_switch_reduction", false);
  t.native_pytorch = fields.boolean("native_pytorch", false);
  t.step_time = fields.boolean("step_time", false);
  t.runtime_reserve = fields.boolean("runtime_reserve", false);
  t.sequential_move_factor = fields.whole("sequential_move_factor", 0, 0, whole_most);
  fields.text("source", "");
  fields.text("note", "");
  fields.finish();  // a misspelt trait must not pass for an absent one
  return t;
}

/// Reads a core: the common keys, and those of its device.
topology::Core core_from(MapReader& map, topology::Accelerator accelerator, std::vector<Diagnostic>& faults) {
  const Node* node = map.raw("core");
  if (node == nullptr) {
    map.fault("core", "this key is missing", "add the numbers of one core or device");
    return {};
  }
  MapReader fields(*node, "core", faults);
  QuantityReader read(fields, "core", faults);
  topology::Core core;
  core.device = std::string(to_string(accelerator));
  core.lnc = read.whole("lnc", 1, 1);
  core.bf16 = FlopsPerSecond(read.positive("bf16", Dimension::flops_per_second));
  core.memory = Bytes(read.positive("memory", Dimension::bytes));
  core.hbm = BytesPerSecond(read.positive("hbm_bandwidth", Dimension::bytes_per_second));
  const std::vector<std::string_view> needs = models::device_of(core).needs();
  const auto needed = [&](std::string_view key) {
    return std::find(needs.begin(), needs.end(), key) != needs.end();
  };
  const auto count = [&](std::string_view key) { return needed(key) ? read.required_whole(key, 1) : 0; };
  const auto rate = [&](std::string_view key, Dimension of) {
    return needed(key) ? read.positive(key, of) : 0.0;
  };
  core.array_rows = count("array_rows");
  core.array_columns = count("array_columns");
  core.matmul_issue_cycles = count("matmul_issue_cycles");
  core.tensor_hertz = rate("tensor_clock", Dimension::hertz);
  core.vector_lanes = count("vector_lanes");
  core.vector_hertz = rate("vector_clock", Dimension::hertz);
  core.dma = BytesPerSecond(rate("dma_bandwidth", Dimension::bytes_per_second));
  const auto stated = [&](std::string_view key, Dimension of) {
    return fields.has(key) ? read.positive(key, of) : 0.0;
  };
  core.fp32 = FlopsPerSecond(stated("fp32", Dimension::flops_per_second));
  core.fp8 = FlopsPerSecond(stated("fp8", Dimension::flops_per_second));
  core.fp4 = FlopsPerSecond(stated("fp4", Dimension::flops_per_second));
  core.tf32 = FlopsPerSecond(stated("tf32", Dimension::flops_per_second));
  core.multiprocessors = read.whole("multiprocessors", 0, 1);
  core.l2 = Bytes(stated("l2", Dimension::bytes));
  core.watts = stated("power_limit", Dimension::watts);
  return core;
}

/// A chip or device number below `count`.
std::optional<int> index_from(const Node& node, int count, const std::string& key,
                              std::vector<Diagnostic>& faults) {
  const std::optional<int> value = whole_of(node);
  if (value && *value < count) return value;
  faults.push_back({node.at, key,
                    "\"" + printable(node.scalar, 40) + "\" is not a number below " + std::to_string(count),
                    "number chips and devices from 0"});
  return std::nullopt;
}

/// Appends the links of one list to the instance's.
void add_links(const Node* list, const std::string& key, BytesPerSecond rate, topology::Instance& instance,
               std::vector<Diagnostic>& faults) {
  if (list == nullptr) return;
  std::set<std::pair<int, int>> seen;
  for (const topology::Link& l : instance.links) seen.insert(std::minmax(l.chip_a, l.chip_b));
  const int vertices = instance.chips + instance.switches;
  for (const Node& pair : list->items) {
    if (pair.kind != Node::Kind::sequence || pair.items.size() != 2) {
      faults.push_back({pair.at, key, "a link is a pair of chips", "write [0, 1]"});
      continue;
    }
    const auto a = index_from(pair.items[0], vertices, key, faults);
    const auto b = index_from(pair.items[1], vertices, key, faults);
    if (!a || !b) continue;
    if (*a == *b) {
      faults.push_back({pair.at, key, "a link joins a chip to itself", "name two different chips"});
    } else if (!seen.insert(std::minmax(*a, *b)).second) {
      faults.push_back({pair.at, key, "this link is listed twice", "list each pair of chips once"});
    } else {
      instance.links.push_back({*a, *b, rate});
    }
  }
}

void read_links(QuantityReader& read, MapReader& map, topology::Instance& instance,
                std::vector<Diagnostic>& faults) {
  const auto rate_of = [&](const char* key, bool used) {
    if (!used && !map.has(key)) return BytesPerSecond{};
    return BytesPerSecond(read.quantity(key, Dimension::bytes_per_second, used ? 1e-9 : 0));
  };
  add_links(read.list("links"), "links", {}, instance, faults);
  instance.link_per_direction = rate_of("link_bandwidth_per_direction", !instance.links.empty());
  const Node* far = read.list("far_links");
  const BytesPerSecond far_rate =
      rate_of("far_link_bandwidth_per_direction", far != nullptr && !far->items.empty());
  add_links(far, "far_links", far_rate, instance, faults);
}

std::vector<int> nics_of_chips(const Node* list, const topology::Instance& i, std::vector<Diagnostic>& faults,
                               const SourcePos& at) {
  std::vector<int> nics;
  if (list != nullptr) {
    for (const Node& item : list->items) {
      if (const auto nic = index_from(item, i.nics, "nic_of_chip", faults)) nics.push_back(*nic);
    }
  }
  const std::size_t wanted = i.nics > 0 ? static_cast<std::size_t>(i.chips) : 0;
  const std::size_t listed = list == nullptr ? 0 : list->items.size();
  if (listed != wanted) {
    faults.push_back(
        {list == nullptr ? at : list->at, "nic_of_chip",
         std::to_string(listed) + " entries for " + std::to_string(wanted) + " chips with a network",
         "list one device number per chip, or none when nics is 0"});
  }
  return nics;
}

std::vector<topology::Price> prices_from(const Node* list, std::vector<Diagnostic>& faults) {
  std::vector<topology::Price> prices;
  if (list == nullptr) return prices;
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    MapReader fields(list->items[i], "prices[" + std::to_string(i) + "]", faults);
    topology::Price price;
    price.kind = fields.required_text("kind");
    price.usd_per_hour = fields.required_number("usd_per_hour", 0, 1e6);
    price.region = fields.text("region", "");
    price.date = fields.text("date", "");
    price.terms = fields.text("terms", "");
    price.source = fields.text("source", "");
    prices.push_back(std::move(price));
  }
  return prices;
}

/// Reads the rates that the collective library achieves on the links.
void read_collective_rates(QuantityReader& read, MapReader& map, topology::Instance& instance,
                           std::vector<Diagnostic>& faults) {
  if (map.has("in_switch_efficiency")) {
    instance.in_switch_efficiency = read.positive("in_switch_efficiency", Dimension::none);
    if (instance.in_switch_efficiency > 1)
      map.fault("in_switch_efficiency", "a share above 1",
                "write the share of the links' rate that it reaches");
  }
  const Node* list = read.list("ll_bandwidths");
  if (list == nullptr) return;
  for (const Node& item : list->items) {
    const std::optional<double> rate = number_of(item);
    if (!rate || !(*rate > 0) || !(*rate < 1e6)) {
      faults.push_back({item.at, "ll_bandwidths",
                        in_quotes(printable(item.scalar, 40)) + " is not a rate in GB/s",
                        "write three rates: of one node, of two or three, of more"});
      return;
    }
    instance.ll_bandwidths.push_back(gigabytes_per_second(*rate));
  }
  if (instance.ll_bandwidths.size() != 3) {
    faults.push_back({list->at, "ll_bandwidths",
                      std::to_string(instance.ll_bandwidths.size()) + " rates instead of three",
                      "write three rates in GB/s: of one node, of two or three, of more"});
  }
}

void read_torus(MapReader& map, topology::Instance& instance, std::vector<Diagnostic>& faults) {
  const Node* node = map.raw("torus");
  if (node == nullptr || node->is_null()) return;
  if (const Node* value = node->find("value")) node = value;
  MapReader fields(*node, "torus", faults);
  instance.torus_rows = fields.required_whole("rows", 1, whole_most);
  instance.torus_columns = fields.required_whole("columns", 1, whole_most);
  instance.torus_depth = fields.whole("depth", 1, 1, whole_most);
  const std::int64_t places =
      saturating_product({instance.torus_rows, instance.torus_columns, instance.torus_depth});
  if (places != instance.chips) {
    const std::string product = fields.has("depth") ? "rows times columns times depth" : "rows times columns";
    map.fault("torus",
              product + " is " + std::to_string(places) + ", chips is " + std::to_string(instance.chips),
              "make them agree");
  }
}

/// A text that is the value itself or the `value` of a map with its source.
std::string sourced_text(MapReader& map, const char* key) {
  const Node* node = map.raw(key);
  if (node == nullptr || node->is_null()) return "";
  const Node* value = node->is_map() ? node->find("value") : node;
  if (value != nullptr && value->kind == Node::Kind::scalar) return value->scalar;
  map.fault(key, "a text was expected", "write the text, or {value: TEXT, source: WHERE IT IS FROM}");
  return "";
}

/// True for "trn2u.48xlarge": family and size.
bool is_ec2_type(const std::string& type) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyz0123456789-";
  const std::size_t dot = type.find('.');
  if (dot == std::string::npos || dot == 0 || dot + 1 == type.size()) return false;
  return type.find_first_not_of(kPlain) == dot &&
         type.find_first_not_of(kPlain, dot + 1) == std::string::npos;
}

/// Reads the hosts of a node, and EC2's name of one of them. Each has an equal share.
void read_hosts(QuantityReader& read, MapReader& map, topology::Instance& i) {
  i.hosts = read.whole("hosts", 1, 1);
  i.ec2_type = sourced_text(map, "ec2_type");
  i.ultraserver_mode = read.whole("ultraserver_mode", 0, 1);
  if (!i.ec2_type.empty() && !is_ec2_type(i.ec2_type)) {
    map.fault("ec2_type", in_quotes(i.ec2_type) + " is not an instance type of EC2",
              "write one such as trn1.32xlarge, or leave the key out if EC2 has none");
  }
  i.kubernetes_resource = sourced_text(map, "kubernetes_resource");
  i.hyperpod_type = sourced_text(map, "hyperpod_type");
  i.device_name = sourced_text(map, "device_name");
  if (!i.hyperpod_type.empty() && i.hyperpod_type != "ml." + i.ec2_type) {
    map.fault("hyperpod_type", in_quotes(i.hyperpod_type) + " is not \"ml.\" and ec2_type",
              "write it as SageMaker does, or leave the key out if HyperPod has no such machine");
  }
  std::string uneven;
  const auto divides = [&](const char* what, double amount) {
    if (std::fmod(amount, i.hosts) != 0) uneven += (uneven.empty() ? "" : ", ") + std::string(what);
  };
  divides("chips", i.chips);
  divides("nics", i.nics);
  divides("network_devices", i.network_devices);
  divides("vcpus", i.vcpus);
  divides("host_memory", i.host_memory.value);
  if (!uneven.empty()) {
    map.fault("hosts", std::to_string(i.hosts) + " hosts cannot have equal shares of " + uneven,
              "state what all hosts of a node have together");
  }
}

}  // namespace

topology::Instance instance_from(const Node& node) {
  std::vector<Diagnostic> faults;
  MapReader map(node, "", faults);
  QuantityReader read(map, "", faults);
  topology::Instance i;
  i.name = map.required_text("name");
  i.family = map.required_text("family");
  i.traits = traits_from(map, faults);
  i.untimed = map.text("untimed", "");
  if (i.traits.step_time && !i.untimed.empty())
    map.fault("untimed", "traits.step_time states that a step can be timed", "remove one of the two");
  i.chips = read.required_whole("chips", 1);
  i.cores_per_chip = read.required_whole("cores_per_chip", 1);
  i.switches = read.whole("switches", 0, 0);
  if (i.chips > kChipsMost || i.cores_per_chip > kChipsMost || i.switches > kChipsMost) {
    map.fault("chips", "more than " + std::to_string(kChipsMost) + " chips, switches or cores per chip",
              "describe one node");
    throw InputError(std::move(faults));
  }
  i.vcpus = read.whole("vcpus", 0, 0);
  if (map.has("host_memory")) i.host_memory = Bytes(read.quantity("host_memory", Dimension::bytes, 0));
  i.core = core_from(map, i.traits.accelerator, faults);
  read_links(read, map, i, faults);
  read_torus(map, i, faults);
  i.nics = read.whole("nics", 0, 0);
  if (i.nics > 0) i.nic = BytesPerSecond(read.positive("nic_bandwidth", Dimension::bytes_per_second));
  i.network_devices = map.has("network_devices") ? read.whole("network_devices", i.nics, 0) : i.nics;
  i.nic_of_chip = nics_of_chips(read.list("nic_of_chip"), i, faults, node.at);
  read_hosts(read, map, i);
  i.rails = read.whole("rails", 0, 1);
  if (map.has("oversubscription")) i.oversubscription = read.quantity("oversubscription", Dimension::none, 1);
  if (map.has("network_latency"))
    i.network_latency = Seconds(read.positive("network_latency", Dimension::seconds));
  if (map.has("link_bandwidth_collectives"))
    i.link_for_collectives =
        BytesPerSecond(read.positive("link_bandwidth_collectives", Dimension::bytes_per_second));
  read_collective_rates(read, map, i, faults);
  i.prices = prices_from(read.list("prices"), faults);
  if (i.links.empty() && i.chips > 1 && !map.has("links"))
    map.fault("links", "this key is missing", "list the pairs of chips that links join, or [] when none are");
  map.finish(false);  // the catalogue also holds facts for human readers
  if (!faults.empty()) throw InputError(std::move(faults));
  return i;
}

}  // namespace trnplan::io
