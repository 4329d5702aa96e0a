#include "planner/cost/prices.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "text/figures.h"

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

/// AWS lowers on-demand prices by savings plans, no others; a stated price counts as one of the kind asked for.
bool takes_savings_plan(const topology::Price& price, const PriceOptions& o) {
  const Pricing kind = price.is_stated() ? o.pricing : pricing_from(price.kind).value_or(o.pricing);
  return kind == Pricing::on_demand || kind == Pricing::usual;
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

double Bill::usd(Seconds time) const {
  if (!(term.value > 0)) return usd_per_hour() * time.value / kHour;
  const double terms = std::ceil(time / term), nodes = lines.front().usd_per_hour;
  return (nodes * (terms * term).value + (usd_per_hour() - nodes) * time.value) / kHour;
}

double Bill::usd_unused(Seconds time) const {
  return usd(time) - usd_per_hour() * time.value / kHour;
}

double Bill::usd_upfront() const {
  return term.value > 0 ? upfront * lines.front().usd_per_hour * term.value / kHour : 0;
}

Seconds Bill::time_for(double most) const {
  const double hourly = usd_per_hour();
  if (!(hourly > 0)) return Seconds(kInfinity);
  if (!(term.value > 0)) return Seconds(most / hourly * kHour);
  // k terms cost k C, and each of their hours the other lines' price; the last may not be used to its end.
  const double hours = term.value / kHour, nodes = lines.front().usd_per_hour, other = hourly - nodes;
  const double whole = std::floor(most / (hourly * hours));
  const double left = most - whole * hourly * hours - nodes * hours;  // for the hours of one term more
  if (left < 0 || !(other > 0)) return whole * term;
  return whole * term + Seconds(std::min(left / other, hours) * kHour);
}

std::string Bill::commitment(Seconds time) const {
  if (!(term.value > 0)) return "";
  const double years = term.value / kHour / kHoursPerYear, terms = std::ceil(time / term);
  std::string text = fmt::format("paid for {:.0f} x {:.0f} year{}", terms, years, years > 1 ? "s" : "");
  if (upfront > 0) text += fmt::format(", {} USD of it up front", grouped(usd_upfront()));
  return text + fmt::format("; {} USD are for nodes after the run has ended", grouped(usd_unused(time)));
}

std::optional<topology::Price> price_of(const topology::Instance& instance, Pricing pricing) {
  if (instance.chosen && (pricing == Pricing::usual || instance.chosen->kind == to_string(pricing)))
    return instance.chosen;
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

topology::Price stated_price(double usd_per_hour) {
  return {topology::Price::kStated, usd_per_hour, "", "", "", ""};
}

std::optional<topology::Price> paid_price(const topology::Instance& instance, const PriceOptions& o) {
  std::optional<topology::Price> price;
  if (const auto own = o.usd_by_type.find(instance.name); own != o.usd_by_type.end()) {
    price = stated_price(own->second);
  } else if (o.usd_per_node_hour) {
    price = stated_price(*o.usd_per_node_hour);
  } else {
    price = price_of(instance, o.pricing);
  }
  if (!price) return price;
  price->usd_per_hour *= 1 - o.discount;
  if (takes_savings_plan(*price, o)) price->usd_per_hour *= 1 - o.savings_plan;
  return price;
}

std::optional<Bill> bill_of(const topology::Instance& instance, int nodes, const PriceOptions& options) {
  const auto price = paid_price(instance, options);
  if (!price) return std::nullopt;
  const bool stated = price->is_stated();
  Bill bill;
  PriceLine node;
  node.what = fmt::format("{} x {}", nodes, instance.name);
  node.usd_per_hour = nodes * price->usd_per_hour;
  node.basis = stated ? "as stated" : basis_of(*price);
  if (options.discount > 0) node.basis += fmt::format(", less {:.4g} %", 100 * options.discount);
  if (options.savings_plan > 0 && takes_savings_plan(*price, options))
    node.basis += fmt::format(", savings plan {:.4g} %", 100 * options.savings_plan);
  bill.lines.push_back(std::move(node));
  bill.term = Seconds(options.term_years * kHoursPerYear * kHour);
  bill.upfront = options.upfront;
  if (options.storage_gib > 0 && options.storage_usd_per_gib_month > 0) {
    bill.lines.push_back({fmt::format("shared storage, {:.0f} GiB", options.storage_gib),
                          options.storage_gib * options.storage_usd_per_gib_month / kHoursPerMonth,
                          "as stated"});
  }
  if (options.other_usd_per_hour > 0)
    bill.lines.push_back({"controller and login nodes", options.other_usd_per_hour, "as stated"});
  const Pricing kind = stated ? options.pricing : pricing_from(price->kind).value_or(options.pricing);
  if (kind == Pricing::capacity_block && nodes * instance.hosts > kCapacityBlockNodes) {
    bill.remark = fmt::format("capacity blocks give at most {} instances", kCapacityBlockNodes);
  }
  if (options.savings_plan > 0 && !takes_savings_plan(*price, options))
    bill.remark = fmt::format("a savings plan does not lower a {} price", in_words(kind));
  bill.spot = kind == Pricing::spot;
  if (bill.spot)
    bill.remark = "interruptions count as failures; that spot prices change by the hour is not counted";
  return bill;
}

}  // namespace trnplan::planner
