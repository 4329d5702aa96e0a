#include "text/quantity_reader.h"

namespace trnplan {

namespace {

struct Unit {
  std::string_view text;
  Dimension dimension;
  double scale;
};

constexpr double kKibi = 1024.0;
constexpr Unit kUnits[] = {
    {"", Dimension::none, 1},
    {"1", Dimension::none, 1},
    {"cycles", Dimension::none, 1},
    {"GFLOPS", Dimension::flops_per_second, 1e9},
    {"TFLOPS", Dimension::flops_per_second, 1e12},
    {"PFLOPS", Dimension::flops_per_second, 1e15},
    {"Hz", Dimension::hertz, 1},
    {"MHz", Dimension::hertz, 1e6},
    {"GHz", Dimension::hertz, 1e9},
    {"B", Dimension::bytes, 1},
    {"bytes", Dimension::bytes, 1},
    {"KiB", Dimension::bytes, kKibi},
    {"MB", Dimension::bytes, 1e6},
    {"GB", Dimension::bytes, 1e9},
    {"TB", Dimension::bytes, 1e12},
    {"MiB", Dimension::bytes, kKibi* kKibi},
    {"GiB", Dimension::bytes, kKibi* kKibi* kKibi},
    {"TiB", Dimension::bytes, kKibi* kKibi* kKibi* kKibi},
    {"MB/s", Dimension::bytes_per_second, 1e6},
    {"GB/s", Dimension::bytes_per_second, 1e9},
    {"TB/s", Dimension::bytes_per_second, 1e12},
    {"MiB/s", Dimension::bytes_per_second, kKibi* kKibi},
    {"GiB/s", Dimension::bytes_per_second, kKibi* kKibi* kKibi},
    {"TiB/s", Dimension::bytes_per_second, kKibi* kKibi* kKibi* kKibi},
    {"Mbit/s", Dimension::bytes_per_second, 1e6 / 8},
    {"Gbit/s", Dimension::bytes_per_second, 1e9 / 8},
    {"Tbit/s", Dimension::bytes_per_second, 1e12 / 8},
    {"ns", Dimension::seconds, 1e-9},
    {"us", Dimension::seconds, 1e-6},
    {"ms", Dimension::seconds, 1e-3},
    {"s", Dimension::seconds, 1},
    {"W", Dimension::watts, 1},
    {"kW", Dimension::watts, 1e3},
};

std::string units_of(Dimension d) {
  std::string all;
  for (const Unit& u : kUnits) {
    if (u.dimension == d && !u.text.empty()) all += (all.empty() ? "" : ", ") + std::string(u.text);
  }
  return all;
}

constexpr double kLargest = 1e18;

double scale(MapReader& fields, const std::string& text, Dimension dimension) {
  for (const Unit& u : kUnits) {
    if (u.text == text && u.dimension == dimension) return u.scale;
  }
  fields.fault("unit", "\"" + printable(text, 40) + "\" is not a unit for this value",
               "use one of: " + units_of(dimension));
  return 1;
}

}  // namespace

double QuantityReader::quantity(std::string_view key, Dimension dimension, double least) {
  const Node* entry = map_.raw(key);
  if (entry == nullptr || entry->is_null()) {
    map_.fault(key, "this key is missing", "add it: {\"value\": ..., \"unit\": ..., \"source\": ...}");
    return 0;
  }
  MapReader fields(*entry, path(key), faults_);
  const double value = fields.required_number("value", least, kLargest);
  return value * scale(fields, fields.text("unit", ""), dimension);
}

int QuantityReader::whole(std::string_view key, int fallback, int least) {
  const Node* entry = map_.raw(key);
  if (entry == nullptr || !entry->is_map()) return map_.whole(key, fallback, least, whole_most);
  MapReader fields(*entry, path(key), faults_);
  scale(fields, fields.text("unit", ""), Dimension::none);
  return fields.required_whole("value", least, whole_most);
}

int QuantityReader::required_whole(std::string_view key, int least) {
  const int value = whole(key, least, least);
  if (!map_.has(key)) map_.fault(key, "this key is missing", "add it: {\"value\": ..., \"source\": ...}");
  return value;
}

const Node* QuantityReader::list(std::string_view key) {
  const Node* entry = map_.raw(key);
  if (entry != nullptr && entry->is_map()) entry = entry->find("value");
  if (entry == nullptr || entry->is_null()) return nullptr;
  if (entry->kind == Node::Kind::sequence) return entry;
  faults_.push_back(
      {entry->at, path(key), "a list was expected", "write {\"value\": [...], \"source\": ...}"});
  return nullptr;
}

std::string QuantityReader::path(std::string_view key) const {
  return where_.empty() ? std::string(key) : where_ + "." + std::string(key);
}

}  // namespace trnplan
