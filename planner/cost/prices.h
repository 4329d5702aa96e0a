// Hourly cost of a cluster, line by line.
//
// Node prices come from the instance's catalogue entry, each with region and date, or from the caller. The
// caller's price always wins. Shared storage, controller and login nodes are lines only if the caller states
// their price: their prices differ by region and change, and the catalogue holds none. Data transfer and
// taxes are not modelled; interruptions of spot nodes are failures (planner/cost/goodput.h).
//
// A term is a commitment of 1 or 3 years (365 days each): nodes are paid for whole terms, as many as the run
// begins, whatever share of it is due up front. So a run of time t costs
//
//   USD(t) = nodes x price x term x ceil(t / term) + (other lines) x t
//
// Sources: EC2 User Guide, "Reserved Instances" (billed for the entire term, used or not; all, part or
// nothing up front); Savings Plans User Guide (1 or 3 years, lower on-demand prices; neither lowers a spot or
// Capacity Block price).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/instance.h"
#include "units/quantity.h"

namespace trnplan::planner {

/// Kinds of prices; usual: on demand, else the first kind that is known.
enum class Pricing { usual, on_demand, reserved, capacity_block, spot };
/// The catalogue's word: "on_demand", "reserved", "capacity_block", "spot"; "usual".
std::string_view to_string(Pricing p);
/// Reads the catalogue's word, also with a dash for the underscore.
std::optional<Pricing> pricing_from(std::string_view text);
/// Meaning of a word if so many types are compared: the usual price of several types is on demand, since
/// prices of different kinds do not say which type is cheaper. Unknown words count as "usual".
Pricing pricing_of(std::string_view text, std::size_t types);

/// AWS bills storage by a month of 8760 / 12 hours.
inline constexpr double kHoursPerYear = 8760;  ///< 365 days, as AWS counts a term
inline constexpr double kHoursPerMonth = kHoursPerYear / 12;

struct PriceOptions {
  Pricing pricing = Pricing::usual;
  std::optional<double> usd_per_node_hour;  ///< replaces the catalogue's
  double storage_gib = 0;                   ///< of the shared file system
  double storage_usd_per_gib_month = 0;
  double other_usd_per_hour = 0;              ///< controller and login nodes
  std::map<std::string, double> usd_by_type;  ///< per node and hour, before usd_per_node_hour
  double discount = 0;                        ///< share, of every price of a node
  double savings_plan = 0;                    ///< share, of on-demand and stated prices; after `discount`
  int term_years = 0;                         ///< 1 or 3; 0: paid by the hour
  double upfront = 0;                         ///< share of a term that is due at its start
};

struct PriceLine {
  std::string what;
  double usd_per_hour = 0;
  std::string basis;  ///< "us-east-1, 2026-07-20", or who stated it
};

struct Bill {
  std::vector<PriceLine> lines;
  std::string remark;  ///< a limit of the kind of purchase that the cluster exceeds; may be empty
  bool spot = false;   ///< the market may interrupt its nodes
  Seconds term{};      ///< for which the first line is paid; 0: by the hour
  double upfront = 0;  ///< share of it that is due at its start

  double usd_per_hour() const;
  /// Cost of a run, whole terms included.
  double usd(Seconds time) const;
  /// The part of usd() for nodes after the run has ended.
  double usd_unused(Seconds time) const;
  /// The part of usd() that is due when the run begins.
  double usd_upfront() const;
  /// The longest run that costs at most so much; infinite if nothing has a price.
  Seconds time_for(double usd) const;
  /// The terms of the purchase in a sentence, with what is paid after the run; "" without a term.
  std::string commitment(Seconds time) const;
};

/// The instance's price of that kind; for Pricing::usual Instance::price(). Of several, the one with the
/// latest date; of equal dates, the first. A price without a date ("not stated") is older than one with a
/// date.
std::optional<topology::Price> price_of(const topology::Instance& instance, Pricing pricing);

/// Prices of the other kinds, one of each, chosen likewise.
std::vector<topology::Price> other_prices(const topology::Instance& instance, Pricing pricing);
/// Prices of an instance that lacks one of the kind asked for: "no on-demand price; capacity block: 35.76
/// USD/h (2026-02, us-east-1)".
std::string why_unpriced(const topology::Instance& instance, Pricing pricing);

/// Terms of the purchase and their duration: as the price states, else as usual for its kind.
std::string terms_of(const topology::Price& price);
/// "on_demand, us-east-1, 2026-07-20".
std::string basis_of(const topology::Price& price);

/// A price that the user states, per node and hour.
[[nodiscard]] topology::Price stated_price(double usd_per_hour);

/// Price of a node as it is paid: as stated for its type or for all types, else the catalogue's, less the
/// discounts; `kind` is "stated" for a stated one.
std::optional<topology::Price> paid_price(const topology::Instance& instance, const PriceOptions& options);

/// Bill of a cluster; nullopt if neither catalogue nor caller states a price of a node.
std::optional<Bill> bill_of(const topology::Instance& instance, int nodes, const PriceOptions& options);

}  // namespace trnplan::planner
