// What a cluster costs an hour, line by line.
//
// Node prices come from the instance's catalogue entry, each with region and date, or from the caller, whose
// price always wins. Shared storage, controller and login nodes are lines only where the caller states their
// price: their prices differ by region and change, and the catalogue holds none. Data transfer,
// taxes and negotiated discounts are not modelled, nor is that spot nodes are taken away; a reserved price is paid
// for the whole term, also when the run is shorter.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/instance.h"
#include "units/quantity.h"

namespace trnplan::planner {

/// usual: on demand, else the first kind that is known.
enum class Pricing { usual, on_demand, reserved, capacity_block, spot };
/// As in the catalogue: "on_demand", "reserved", "capacity_block", "spot"; "usual".
std::string_view to_string(Pricing p);
/// Also with a dash for the underscore.
std::optional<Pricing> pricing_from(std::string_view text);
/// What a word means where so many types are compared: the usual price of several is that on demand, since prices of several
/// kinds do not say which type is cheaper. Unknown words are taken for the usual one.
Pricing pricing_of(std::string_view text, std::size_t types);

/// AWS bills storage by a month of 8760 / 12 hours.
inline constexpr double kHoursPerMonth = 730;

struct PriceOptions {
  Pricing pricing = Pricing::usual;
  std::optional<double> usd_per_node_hour;  ///< instead of the catalogue's
  double storage_gib = 0;                   ///< of the shared file system
  double storage_usd_per_gib_month = 0;
  double other_usd_per_hour = 0;  ///< controller and login nodes
};

struct PriceLine {
  std::string what;
  double usd_per_hour = 0;
  std::string basis;  ///< "us-east-1, 2026-07-20", or who stated it
};

struct Bill {
  std::vector<PriceLine> lines;
  std::string remark;  ///< a limit of the way of buying that the cluster exceeds; may be empty

  double usd_per_hour() const;
  double usd(Seconds time) const { return usd_per_hour() * time.value / kHour; }
};

/// The instance's price of that kind, of Pricing::usual Instance::price(): of several the one with the latest date, of equals the first. What has no date
/// ("not stated") is older than what has one.
std::optional<topology::Price> price_of(const topology::Instance& instance, Pricing pricing);

/// The prices of the kinds that were not asked for, likewise one of each.
std::vector<topology::Price> other_prices(const topology::Instance& instance, Pricing pricing);
/// Of an instance without a price of the kind asked for, what there is: "no on-demand price; capacity block: 35.76 USD/h
/// (2026-02, us-east-1)".
std::string why_unpriced(const topology::Instance& instance, Pricing pricing);

/// What is bought and for how long: as the price states it, else what is usual of its kind.
std::string terms_of(const topology::Price& price);
/// "on_demand, us-east-1, 2026-07-20".
std::string basis_of(const topology::Price& price);

/// nullopt when neither catalogue nor caller states a price of a node.
std::optional<Bill> bill_of(const topology::Instance& instance, int nodes, const PriceOptions& options);

}  // namespace trnplan::planner
