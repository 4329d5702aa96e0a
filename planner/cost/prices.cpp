#include "planner/cost/prices.h"

#include <fmt/format.h>

namespace trnplan::planner {

namespace {

constexpr std::string_view kNames[] = {"usual", "on_demand", "reserved", "capacity_block", "spot"};
constexpr Pricing kAll[] = {Pricing::on_demand, Pricing::reserved, Pricing::capacity_block, Pricing::spot};

/// AWS EC2 User Guide, Capacity Blocks for ML: up to 64 instances each, 256 in all.
constexpr int kCapacityBlockNodes = 256;  // instances: hosts

/// A date that begins with a year, else "".
std::string_view known_date(const topology::Price& p) {
  const bool known = !p.date.empty() && p.date.front() >= '0' && p.date.front() <= '9';
  return known ? std::string_view(p.date) : std::string_view();
}

std::string_view in_words(Pricing p) {
  constexpr std::string_view kWords[] = {"known", "on-demand", "reserved", "capacity block", "spot"};
  return kWords[static_cast<std::size_t>(p)];
}

}  // namespace

std::string_view to_string(Pricing p) {
  return kNames[static_cast<std::size_t>(p)];
}

std::optional<Pricing> pricing_from(std::string_view text) {
  std::string folded(text);
  for (char& c : folded) c = c == '-' ? '_' : c;
  if (folded == to_string(Pricing::usual)) return Pricing::usual;
  for (const Pricing p : kAll) {
    if (folded == to_string(p)) return p;
  }
  return std::nullopt;
}

Pricing pricing_of(std::string_view text, std::size_t types) {
  const Pricing asked = pricing_from(text).value_or(Pricing::usual);
  return asked == Pricing::usual && types > 1 ? Pricing::on_demand : asked;
}

double Bill::usd_per_hour() const {
  double sum = 0;
  for (const PriceLine& line : lines) sum += line.usd_per_hour;
  return sum;
}

std::optional<topology::Price> price_of(const topology::Instance& instance, Pricing pricing) {
  if (pricing == Pricing::usual) {
    if (const auto on_demand = price_of(instance, Pricing::on_demand)) return on_demand;
    const topology::Price* known = instance.price();
    return known == nullptr ? std::nullopt : std::optional(*known);
  }
  std::optional<topology::Price> latest;
  for (const topology::Price& p : instance.prices) {
    if (p.kind != to_string(pricing)) continue;
    if (!latest || known_date(p) > known_date(*latest)) latest = p;
  }
  return latest;
}

std::vector<topology::Price> other_prices(const topology::Instance& instance, Pricing pricing) {
  std::vector<topology::Price> all;
  const auto asked = price_of(instance, pricing);
  for (const Pricing kind : kAll) {
    const auto price = price_of(instance, kind);
    if (kind != pricing && price && !(asked && asked->kind == price->kind)) all.push_back(*price);
  }
  return all;
}

std::string why_unpriced(const topology::Instance& instance, Pricing pricing) {
  std::string text = fmt::format("no {} price", in_words(pricing));
  for (const topology::Price& p : other_prices(instance, pricing)) {
    text += fmt::format("; {}: {:.2f} USD/h ({}, {})", in_words(*pricing_from(p.kind)), p.usd_per_hour,
                        known_date(p).empty() ? "no date" : p.date,
                        p.region.empty() ? "region not stated" : p.region);
  }
  return text;
}

std::string terms_of(const topology::Price& p) {
  if (!p.terms.empty()) return p.terms;
  switch (pricing_from(p.kind).value_or(Pricing::on_demand)) {
    case Pricing::usual:
    case Pricing::on_demand:
      return "by the second, no guarantee";
    case Pricing::reserved:
      return "a reserved instance, its term not stated";
    case Pricing::capacity_block:
      return "paid up front for 1 to 182 days";
    case Pricing::spot:
      break;
  }
  return "spot; may be taken away at any time";
}

std::string basis_of(const topology::Price& p) {
  const auto stated = [](const std::string& text) { return text.empty() ? "not stated" : text; };
  return fmt::format("{}, {}, {}", p.kind, stated(p.region), stated(p.date));
}

std::optional<Bill> bill_of(const topology::Instance& instance, int nodes, const PriceOptions& options) {
  const auto listed = price_of(instance, options.pricing);
  if (!listed && !options.usd_per_node_hour) return std::nullopt;
  Bill bill;
  PriceLine node;
  node.what = fmt::format("{} x {}", nodes, instance.name);
  if (options.usd_per_node_hour) {
    node.usd_per_hour = nodes * *options.usd_per_node_hour;
    node.basis = "as stated";
  } else {
    node.usd_per_hour = nodes * listed->usd_per_hour;
    node.basis = basis_of(*listed);
  }
  bill.lines.push_back(std::move(node));
  if (options.storage_gib > 0 && options.storage_usd_per_gib_month > 0) {
    bill.lines.push_back({fmt::format("shared storage, {:.0f} GiB", options.storage_gib),
                          options.storage_gib * options.storage_usd_per_gib_month / kHoursPerMonth,
                          "as stated"});
  }
  if (options.other_usd_per_hour > 0)
    bill.lines.push_back({"controller and login nodes", options.other_usd_per_hour, "as stated"});
  const Pricing kind = listed && !options.usd_per_node_hour
                           ? pricing_from(listed->kind).value_or(options.pricing)
                           : options.pricing;
  if (kind == Pricing::capacity_block && nodes * instance.hosts > kCapacityBlockNodes) {
    bill.remark = fmt::format("capacity blocks give at most {} instances", kCapacityBlockNodes);
  }
  if (kind == Pricing::spot)
    bill.remark = "spot prices change by the hour, and nodes may be taken away: neither is counted";
  return bill;
}

}  // namespace trnplan::planner
