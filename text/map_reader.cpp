// MapReader: typed values of a map, with all faults collected.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "text/document.h"
#include "text/parse.h"

namespace trnplan {

std::optional<double> number_of(const Node& node) {
  if (node.kind != Node::Kind::scalar || node.quoted || node.scalar.empty()) return std::nullopt;
  double value = 0;
  const char* end = node.scalar.data() + node.scalar.size();
  const auto [stop, error] = std::from_chars(node.scalar.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<int> whole_of(const Node& node) {
  if (node.kind != Node::Kind::scalar || node.quoted) return std::nullopt;
  // "007" means 7 to some readers and an octal number to others.
  if (node.scalar.size() > 1 && node.scalar[0] == '0') return std::nullopt;
  return parse_whole(node.scalar);
}

// ---- MapReader ----

namespace {

std::string kind_name(const Node& node) {
  switch (node.kind) {
    case Node::Kind::null:
      return "nothing";
    case Node::Kind::scalar:
      return in_quotes(node.scalar);
    case Node::Kind::sequence:
      return "a list";
    case Node::Kind::map:
      return "a map";
  }
  return "a value";
}

std::string range_text(int least, int most) {
  if (most == std::numeric_limits<int>::max()) return "of at least " + std::to_string(least);
  return "from " + std::to_string(least) + " to " + std::to_string(most);
}

bool only_digits(const Node& node) {
  return node.kind == Node::Kind::scalar && !node.scalar.empty() &&
         node.scalar.find_first_not_of("0123456789") == std::string::npos;
}

std::string whole_problem(const Node& node, int least, int most) {
  const bool digits = only_digits(node) && !node.quoted && (node.scalar[0] != '0' || node.scalar.size() == 1);
  const std::optional<int> value = parse_whole(node.scalar);
  if (digits && (!value || *value > most))
    return kind_name(node) + " is too large (at most " + std::to_string(most) + ")";
  return kind_name(node) + " is not a whole number of at least " + std::to_string(least);
}

std::string short_number(double value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

/// The most unknown keys that are reported; more would only hide the other messages.
constexpr std::size_t unknown_keys_told = 20;

std::string list_of(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

}  // namespace

MapReader::MapReader(const Node& node, std::string where, std::vector<Diagnostic>& faults,
                     std::vector<std::string> described)
    : node_(&node),
      where_(std::move(where)),
      faults_(&faults),
      known_(std::move(described)),
      described_(!known_.empty()) {
  if (node.is_map() || node.is_null()) return;
  faults.push_back({node.at, where_, kind_name(node) + " is here instead of keys with values",
                    "write \"key: value\" lines here"});
  node_ = nullptr;  // so that finish() does not report its keys as missing too
}

std::string MapReader::full(std::string_view key) const {
  return where_.empty() ? std::string(key) : where_ + "." + std::string(key);
}

bool MapReader::has(std::string_view key) const {
  const Node* value = node_ == nullptr ? nullptr : node_->find(key);
  return value != nullptr && !value->is_null();
}

const Node* MapReader::raw(std::string_view key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) {
    if (described_) throw std::logic_error(full(key) + " is read and not described");
    known_.emplace_back(key);
  }
  return node_ == nullptr ? nullptr : node_->find(key);
}

void MapReader::fault(std::string_view key, std::string problem, std::string fix) {
  if (node_ == nullptr) return;
  const Node* value = node_->find(key);
  faults_->push_back(
      {value == nullptr ? node_->at : value->at, full(key), std::move(problem), std::move(fix)});
}

int MapReader::whole(std::string_view key, int fallback, int least, int most) {
  const Node* value = raw(key);
  if (value == nullptr || value->is_null()) return fallback;
  const std::optional<int> number = whole_of(*value);
  if (number && *number >= least && *number <= most) return *number;
  const bool only_quotes = value->quoted && parse_whole(value->scalar);
  fault(key, whole_problem(*value, least, most),
        only_quotes ? "remove the quotes: " + printable(value->scalar, 60)
                    : "write a whole number " + range_text(least, most) + ", without unit or fraction");
  return fallback;
}

int MapReader::required_whole(std::string_view key, int least, int most) {
  const int value = whole(key, least, least, most);
  if (!has(key)) fault(key, "this key is missing", "add it, with a whole number " + range_text(least, most));
  return value;
}

double MapReader::number(std::string_view key, double fallback, double least, double most) {
  const Node* value = raw(key);
  if (value == nullptr || value->is_null()) return fallback;
  const std::optional<double> number = number_of(*value);
  if (number && *number >= least && *number <= most) return *number;
  const std::string range = "from " + short_number(least) + " to " + short_number(most);
  fault(key, kind_name(*value) + " is not a number " + range,
        "write a plain number " + range + ", without unit or quotes");
  return fallback;
}

double MapReader::required_number(std::string_view key, double least, double most) {
  const double value = number(key, least, least, most);
  if (!has(key)) {
    fault(key, "this key is missing",
          "add it, with a number from " + short_number(least) + " to " + short_number(most));
  }
  return value;
}

bool MapReader::boolean(std::string_view key, bool fallback) {
  const Node* value = raw(key);
  if (value == nullptr || value->is_null()) return fallback;
  if (value->kind == Node::Kind::scalar && !value->quoted) {
    if (value->scalar == "true" || value->scalar == "True") return true;
    if (value->scalar == "false" || value->scalar == "False") return false;
  }
  fault(key, kind_name(*value) + " is neither true nor false", "write true or false, without quotes");
  return fallback;
}

std::string MapReader::text(std::string_view key, std::string fallback) {
  const Node* value = raw(key);
  if (value == nullptr || value->is_null()) return fallback;
  if (value->kind == Node::Kind::scalar) return value->scalar;
  fault(key, kind_name(*value) + " is here instead of one text", "write one word or a quoted text");
  return fallback;
}

std::string MapReader::required_text(std::string_view key) {
  std::string value = text(key, "");
  if (!has(key)) {
    fault(key, "this key is missing", "add it, with a text");
  } else if (value.empty() && node_->find(key)->kind == Node::Kind::scalar) {
    fault(key, "the text is empty", "write a text");
  }
  return value;
}

double MapReader::count(std::string_view key, double fallback) {
  const Node* value = raw(key);
  if (value == nullptr || value->is_null()) return fallback;
  if (value->kind == Node::Kind::scalar) {
    if (const std::optional<double> number = parse_count(value->scalar)) return *number;
  }
  fault(key, kind_name(*value) + " is not a count", "write a number such as 1024, 2.5M or 15T");
  return fallback;
}

void MapReader::ignore(std::initializer_list<std::string_view> keys) {
  known_.insert(known_.end(), keys.begin(), keys.end());
}

void MapReader::finish(bool strict) {
  if (!strict || node_ == nullptr) return;
  std::size_t unknown = 0;
  for (const Node::Entry& e : node_->entries) {
    if (std::find(known_.begin(), known_.end(), e.key) != known_.end()) continue;
    if (++unknown > unknown_keys_told) continue;
    const std::string near = nearest(e.key, known_);
    faults_->push_back(
        {e.key_at, full(e.key), "unknown key",
         near.empty() ? "known keys here: " + list_of(known_) : "did you mean \"" + near + "\"?"});
  }
  if (unknown > unknown_keys_told) {
    faults_->push_back({node_->at, where_, std::to_string(unknown - unknown_keys_told) + " more unknown keys",
                        "check that this is the right file"});
  }
}

}  // namespace trnplan
