#include "io/input/offerings_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "text/diagnostic.h"
#include "text/utc_time.h"
#include "units/quantity.h"

namespace trnplan::io {

namespace {

using planner::Offer;
using planner::OfferedSpan;

constexpr int kMostInstances = 100'000;
constexpr double kMostHours = 87'600, kMostUsd = 1e12;
constexpr int kBlockInstances = 64;
constexpr double kDailyUpTo = 14, kMostDays = 182, kWeek = 7;
/// 1970 to 9999.
constexpr double kLatest = 253'402'300'800;
constexpr const char* kTimeFix = "write for example 2026-12-01T11:30:00Z";

/// Reads the fields of one object.
class Fields {
 public:
  Fields(const Node& node, std::string where, std::vector<Diagnostic>& faults)
      : node_(node), where_(std::move(where)), faults_(faults) {
    if (!node.is_map()) fault(node.at, "", "an object was expected", "see the service's documentation");
  }

  std::string text(const char* key, bool needed = true) {
    const Node* n = value(key);
    if (n != nullptr && n->kind == Node::Kind::scalar && !n->scalar.empty()) return n->scalar;
    if (needed || n != nullptr)
      fault(at(n), key, n == nullptr ? "this field is missing" : "a text was expected",
            "keep the service's output as it is");
    return "";
  }

  std::optional<double> time(const char* key) {
    const Node* n = value(key);
    if (n == nullptr) return std::nullopt;
    const auto seconds = n->quoted ? std::nullopt : number_of(*n);
    const auto time = seconds ? seconds : parse_utc(n->scalar);
    if (time && *time >= 0 && *time < kLatest) return time;
    fault(n->at, key, in_quotes(n->scalar) + " is not a time", kTimeFix);
    return std::nullopt;
  }

  /// A number, also as text; `otherwise` if the field is missing.
  double number(const char* key, std::optional<double> otherwise, double least, double most) {
    const Node* n = value(key);
    if (n == nullptr && otherwise) return *otherwise;
    double x = 0;
    bool right = n != nullptr && n->kind == Node::Kind::scalar;
    if (right) {
      const char* end = n->scalar.data() + n->scalar.size();
      const auto [stop, error] = std::from_chars(n->scalar.data(), end, x);
      right = error == std::errc() && stop == end && std::isfinite(x) && x >= least && x <= most;
    }
    if (right) return x;
    fault(at(n), key, n == nullptr ? "this field is missing" : in_quotes(n->scalar) + " is not possible here",
          fmt::format("a number from {} to {:.6g}", least, most));
    return least;
  }

  int whole(const char* key, int least, int most) {
    const double x = number(key, std::nullopt, least, most);
    if (x == std::floor(x)) return static_cast<int>(x);
    fault(at(value(key)), key, "a whole number was expected", "state a whole number");
    return least;
  }

  const Node* value(const char* key) const {
    const Node* n = node_.find(key);
    return n == nullptr || n->is_null() ? nullptr : n;
  }
  SourcePos at(const Node* n) const { return n == nullptr ? node_.at : n->at; }
  void fault(const SourcePos& at, const std::string& key, std::string problem, std::string fix) {
    faults_.push_back({at, key.empty() ? where_ : where_ + "." + key, std::move(problem), std::move(fix)});
  }
  const std::string& where() const { return where_; }
  std::vector<Diagnostic>& faults() { return faults_; }

 private:
  const Node& node_;
  std::string where_;
  std::vector<Diagnostic>& faults_;
};

/// The span from `from` to `to`; without an end, as long as hours and minutes say.
std::optional<OfferedSpan> span_of(Fields& f, const char* from, const char* to, const char* hours,
                                   const char* minutes) {
  const std::size_t faults = f.faults().size();
  const auto start = f.time(from);
  auto end = f.time(to);
  const double length =
      f.number(hours, 0, 0, kMostHours) * kHour + f.number(minutes, 0, 0, kMostHours * 60) * 60;
  if (f.faults().size() > faults) return std::nullopt;
  if (!start) {
    f.fault(f.at(nullptr), from, "this field is missing", kTimeFix);
    return std::nullopt;
  }
  if (!end && length > 0) end = *start + length;
  if (!end || *end <= *start) {
    f.fault(f.at(f.value(to)), to,
            end ? "the end is not after the start" : "neither an end nor a length is stated", kTimeFix);
    return std::nullopt;
  }
  return OfferedSpan{*start, *end};
}

void read_fee(Fields& f, Offer& o) {
  o.usd = f.number("UpfrontFee", std::nullopt, 0, kMostUsd);
  const std::string currency = f.text("CurrencyCode", false);
  if (currency.empty() || currency == "USD" || currency == "usd") return;
  f.fault(f.at(f.value("CurrencyCode")), "CurrencyCode",
          "fees in " + in_quotes(currency) + " are not compared", "state them in USD");
}

Offer block_from(Fields& f) {
  Offer o;
  o.id = f.text("CapacityBlockOfferingId");
  o.instance = f.text("InstanceType");
  o.instances = f.whole("InstanceCount", 1, kMostInstances);
  o.zone = f.text("AvailabilityZone", false);
  read_fee(f, o);
  if (const auto span =
          span_of(f, "StartDate", "EndDate", "CapacityBlockDurationHours", "CapacityBlockDurationMinutes"))
    o.spans.push_back(*span);
  return o;
}

/// A plan of several reserved capacities: all of one type and count, one after the other.
Offer plan_from(Fields& f) {
  Offer o;
  o.service = Offer::Service::training_plan;
  o.id = f.text("TrainingPlanOfferingId");
  read_fee(f, o);
  const Node* parts = f.value("ReservedCapacityOfferings");
  if (parts == nullptr || parts->kind != Node::Kind::sequence || parts->items.empty()) {
    f.fault(f.at(parts), "ReservedCapacityOfferings", "a list of reserved capacities was expected",
            "keep the service's output as it is");
    return o;
  }
  for (std::size_t i = 0; i < parts->items.size(); ++i) {
    Fields part(parts->items[i], fmt::format("{}.ReservedCapacityOfferings[{}]", f.where(), i), f.faults());
    if (!parts->items[i].is_map()) continue;
    std::string type = part.text("InstanceType");
    if (type.starts_with("ml.")) type = type.substr(3);
    const int count = part.whole("InstanceCount", 1, kMostInstances);
    if (i > 0 && (type != o.instance || count != o.instances))
      part.fault(parts->items[i].at, "InstanceType", "a plan of several types or counts is not supported",
                 "leave this offer out");
    o.instance = type;
    o.instances = count;
    if (o.zone.empty()) o.zone = part.text("AvailabilityZone", false);
    if (const auto span = span_of(part, "StartTime", "EndTime", "DurationHours", "DurationMinutes"))
      o.spans.push_back(*span);
  }
  std::sort(o.spans.begin(), o.spans.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
  for (std::size_t i = 1; i < o.spans.size(); ++i)
    if (o.spans[i].start < o.spans[i - 1].end)
      f.fault(parts->at, "ReservedCapacityOfferings", "two of them are at the same time",
              "leave this offer out");
  return o;
}

/// What AWS would not offer; "" if nothing.
std::string oddity_of(const Offer& o) {
  if (o.service != Offer::Service::capacity_block) return "";
  const double days = (o.end() - o.start()) / kDay;
  const double weeks = std::abs(days - kWeek * std::round(days / kWeek));
  if (o.instances > kBlockInstances)
    return fmt::format("{} has {} instances; a Capacity Block has at most {}", printable(o.id, 60),
                       o.instances, kBlockInstances);
  if (days > kMostDays + 1)
    return fmt::format("{} lasts {:.1f} days; a Capacity Block lasts at most {:.0f}", printable(o.id, 60),
                       days, kMostDays);
  if (days > kDailyUpTo + 1 && weeks > 1)
    return fmt::format("{} lasts {:.1f} days; beyond {:.0f} days Capacity Blocks are sold by the week",
                       printable(o.id, 60), days, kDailyUpTo);
  return "";
}

}  // namespace

ReadOffers offers_from(const Node& root) {
  std::vector<Diagnostic> faults;
  ReadOffers read;
  std::set<std::string> ids;
  bool found = false;
  for (const char* list : {"CapacityBlockOfferings", "TrainingPlanOfferings"}) {
    const Node* all = root.find(list);
    if (all == nullptr || all->is_null()) continue;
    found = true;
    if (all->kind != Node::Kind::sequence || all->items.size() > kMostOffers) {
      faults.push_back({all->at, list, fmt::format("a list of at most {} offers was expected", kMostOffers),
                        "ask for fewer"});
      continue;
    }
    const bool blocks = list == std::string_view("CapacityBlockOfferings");
    for (std::size_t i = 0; i < all->items.size(); ++i) {
      const std::size_t before = faults.size();
      Fields fields(all->items[i], fmt::format("{}[{}]", list, i), faults);
      if (!all->items[i].is_map()) continue;
      Offer o = blocks ? block_from(fields) : plan_from(fields);
      if (faults.size() == before && !ids.insert(o.id).second)
        fields.fault(all->items[i].at, "", "this id is there twice: " + in_quotes(o.id), "leave one out");
      if (faults.size() > before) continue;
      if (std::string odd = oddity_of(o); !odd.empty()) read.remarks.push_back(std::move(odd));
      read.offers.push_back(std::move(o));
    }
  }
  if (!found || (faults.empty() && read.offers.empty()))
    faults.push_back({root.at, "", "no offers were found",
                      "give the JSON of aws ec2 describe-capacity-block-offerings or aws sagemaker "
                      "search-training-plan-offerings"});
  if (!faults.empty()) throw InputError(std::move(faults));
  return read;
}

}  // namespace trnplan::io
