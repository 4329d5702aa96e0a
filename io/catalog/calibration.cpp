#include "io/catalog/calibration.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include <fmt/format.h>

namespace trnplan::io {

namespace {

constexpr std::size_t most_stacks = 1000;
constexpr double most_log_sd = 100;
/// Relative difference allowed between a spread and its variance, because both are written with few digits.
constexpr double rounding = 0.01;

models::StackFactor stack_from(const Node& node, const std::string& where, std::vector<Diagnostic>& faults) {
  MapReader fields(node, where, faults);
  models::StackFactor s;
  s.framework = fields.required_text("framework");
  s.release = fields.text("release", "");
  s.instance = fields.text("instance", "");
  s.layout = fields.text("layout", "");
  s.parameters = static_cast<std::int64_t>(fields.number("parameters", 0, 0, 1e15));
  s.median = fields.required_number("median", 1e-3, 1e3);
  s.log_sd = fields.required_number("log_sd", 0, most_log_sd);
  fields.finish();
  return s;
}

/// The list under `key`, at most `most` long; empty, with a fault, if it is no list.
const std::vector<Node>& list_of(MapReader& map, std::string_view key, std::size_t most) {
  static const std::vector<Node> none;
  const Node* node = map.raw(key);
  if (node == nullptr || node->kind != Node::Kind::sequence || node->items.size() > most) {
    map.fault(key, "a list of at most " + std::to_string(most) + " was expected", "write [...]");
    return none;
  }
  return node->items;
}

/// Row of each name; nullopt with a fault.
std::optional<std::vector<std::size_t>> rows_of(const std::vector<Node>& names, MapReader& map,
                                                const models::Calibration& c,
                                                const models::ParameterSchema& schema) {
  const std::vector<std::string> known = covariance_names(c, schema);
  std::vector<std::size_t> rows;
  for (const Node& name : names) {
    const auto found = std::find(known.begin(), known.end(), name.scalar);
    const auto row = static_cast<std::size_t>(found - known.begin());
    if (name.scalar.empty() || found == known.end() ||
        std::find(rows.begin(), rows.end(), row) != rows.end()) {
      map.fault("of", "\"" + printable(name.scalar, 60) + "\" is not a parameter or stack, or is named twice",
                "name parameters and the stacks of this file, each once");
      return std::nullopt;
    }
    rows.push_back(row);
  }
  return rows;
}

std::vector<models::FittedRange> ranges_from(const Node& node, std::vector<Diagnostic>& faults) {
  std::vector<models::FittedRange> all;
  MapReader map(node, "calibration.ranges", faults);
  for (const auto& entry : node.entries) {
    const Node* pair = map.raw(entry.key);
    const bool two = pair != nullptr && pair->items.size() == 2;
    const auto low = two ? number_of(pair->items[0]) : std::nullopt;
    const auto high = two ? number_of(pair->items[1]) : std::nullopt;
    if (low && high && *low <= *high) {
      all.push_back({entry.key, *low, *high});
    } else {
      map.fault(entry.key, "two numbers were expected, the smaller one first", "calibrate again");
    }
  }
  return all;
}

void read_covariance(const Node& node, models::Calibration& c, const models::ParameterSchema& schema,
                     std::vector<Diagnostic>& faults) {
  MapReader map(node, "calibration.covariance", faults);
  const std::vector<Node>& names = list_of(map, "of", models::kMostParameters + most_stacks);
  const std::vector<Node>& lower = list_of(map, "lower", models::kMostParameters + most_stacks);
  map.finish();
  const auto rows = rows_of(names, map, c, schema);
  if (!rows) return;
  if (lower.size() != rows->size()) {
    map.fault("lower", "the number of rows differs from the number of names in \"of\"",
              "write one row for each name");
    return;
  }
  for (std::size_t i = 0; i < lower.size(); ++i) {
    if (lower[i].items.size() != i + 1) {
      map.fault("lower", "row " + std::to_string(i + 1) + " has the wrong length",
                "write the lower triangle: one number, two, three ...");
      return;
    }
    for (std::size_t j = 0; j <= i; ++j) {
      const auto value = number_of(lower[i].items[j]);
      if (!value || std::abs(*value) > most_log_sd * most_log_sd) {
        map.fault("lower", "row " + std::to_string(i + 1) + " contains something that is not a finite number",
                  "write numbers");
        return;
      }
      c.covariance[(*rows)[i]][(*rows)[j]] = *value;
      c.covariance[(*rows)[j]][(*rows)[i]] = *value;
    }
  }
  if (!models::is_covariance(c.covariance)) {
    map.fault("lower", "not positive semi-definite, so not a covariance", "calibrate again");
  }
}

void check_spreads(const models::Calibration& c, const models::Profile& profile, MapReader& map) {
  const std::size_t parameters = profile.schema->places();
  for (std::size_t i = 0; i < c.covariance.size(); ++i) {
    const models::Parameter p = profile.schema->at(i);
    if (i < parameters && (!p || models::time_sign(p) == 0)) continue;
    const double stated = i < parameters ? profile.values[i].log_sd : c.stacks[i - parameters].log_sd;
    const double sd = std::sqrt(std::max(0.0, c.covariance[i][i]));
    if (std::abs(sd - stated) <= rounding * std::max(sd, stated)) continue;
    map.fault("covariance",
              "the variance of " + covariance_names(c, *profile.schema)[i] + " is not its log_sd squared",
              "calibrate again");
    return;
  }
}

}  // namespace

std::vector<std::string> covariance_names(const models::Calibration& calibration,
                                          const models::ParameterSchema& schema) {
  std::vector<std::string> names(schema.places());
  for (const models::Parameter p : schema.parameters()) names[p.place()] = models::to_string(p);
  for (const models::StackFactor& s : calibration.stacks) {
    std::string name = s.release.empty() ? s.framework : s.framework + " " + s.release;
    if (!s.instance.empty()) name += " on " + s.instance;
    if (!s.layout.empty()) name += ": " + s.layout;
    if (s.parameters > 0) name += fmt::format(" ({} parameters)", s.parameters);
    names.push_back(std::move(name));
  }
  return names;
}

std::shared_ptr<const models::Calibration> calibration_from(const Node& node, const models::Profile& profile,
                                                            std::vector<Diagnostic>& faults) {
  const std::size_t before = faults.size();
  MapReader map(node, "calibration", faults);
  auto c = std::make_shared<models::Calibration>();
  c->prior = map.required_text("prior");
  c->tool = map.text("tool", "");
  for (const Node& file : list_of(map, "files", most_stacks)) {
    MapReader fields(file, "calibration.files", faults);
    c->files.push_back({fields.required_text("name"), fields.required_text("sha256"),
                        static_cast<std::uint64_t>(fields.number("bytes", 0, 0, 1e15))});
    fields.finish();
  }
  for (const Node& stack : list_of(map, "stacks", most_stacks)) {
    c->stacks.push_back(stack_from(stack, "calibration.stacks", faults));
  }
  if (const Node* ranges = map.raw("ranges")) c->ranges = ranges_from(*ranges, faults);
  const std::size_t rows = profile.schema->places() + c->stacks.size();
  c->covariance.assign(rows, std::vector<double>(rows, 0));
  if (const Node* covariance = map.raw("covariance")) {
    read_covariance(*covariance, *c, *profile.schema, faults);
    if (faults.size() == before) check_spreads(*c, profile, map);
  } else {
    map.fault("covariance", "this key is missing", "calibrate again");
  }
  map.finish();
  return faults.size() == before ? c : nullptr;
}

std::shared_ptr<const models::Calibration> calibration_beside(const models::Calibration& base,
                                                              const models::Profile& profile,
                                                              const Node* stated) {
  auto c = std::make_shared<models::Calibration>(base);
  if (stated == nullptr) return c;
  for (const models::Parameter p : profile.schema->parameters()) {
    if (stated->find(models::to_string(p)) == nullptr || models::time_sign(p) == 0) continue;
    const std::size_t i = p.place();
    for (std::size_t j = 0; j < c->covariance.size(); ++j) c->covariance[i][j] = c->covariance[j][i] = 0;
    c->covariance[i][i] = std::pow(profile.values[i].log_sd, 2);
  }
  return c;
}

}  // namespace trnplan::io
