#include "api/prices.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "api/contradictions.h"
#include "io/input/job_input.h"
#include "text/diagnostic.h"
#include "text/document.h"
#include "text/parse.h"

namespace trnplan::api {

namespace {

constexpr std::string_view kSavingsPlan = "savings-plan=";

/// Collects the faults of the options of a price.
class PriceReader {
 public:
  PriceReader(planner::PriceOptions& prices, std::vector<Diagnostic>& faults)
      : prices_(prices), faults_(faults) {}

  void discounts(const std::string& text) {
    if (text.empty()) return;
    for (const std::string& part : comma_parts(text)) {
      const bool plan = part.starts_with(kSavingsPlan);
      const auto share = parse_share(plan ? std::string_view(part).substr(kSavingsPlan.size()) : part);
      double& of = plan ? prices_.savings_plan : prices_.discount;
      if (!share || *share >= 1) {
        fault("--discount", in_quotes(part) + " is not a share below 1",
              "write for example 15%, savings-plan=28%, or both joined by a comma");
      } else if (of > 0) {
        fault("--discount", in_quotes(part) + " is a second one of its kind", "state each kind once");
      } else {
        of = *share;
      }
    }
  }

  /// Requires that the discounts were read.
  void term(const std::string& years, const std::string& upfront) {
    if (!years.empty() && years != "1y" && years != "3y")
      fault("--term", in_quotes(years) + " is not a term that is sold", "write 1y or 3y");
    prices_.term_years = years == "1y" ? 1 : years == "3y" ? 3 : 0;
    const bool sold =
        prices_.pricing != planner::Pricing::spot && prices_.pricing != planner::Pricing::capacity_block;
    if (prices_.savings_plan > 0 && years.empty())
      fault("--discount", "a savings plan is bought for a term, which is not stated",
            "add --term 1y or --term 3y");
    if ((prices_.savings_plan > 0 || !years.empty()) && !sold)
      fault("--term", "spot nodes and capacity blocks have no terms and no savings plans",
            "leave out --term and the savings plan, or ask for --pricing on-demand");
    if (upfront.empty()) return;
    const auto share = parse_share(upfront);
    if (!share) fault("--upfront", in_quotes(upfront) + " is not a share", "write for example 50% or 100%");
    if (years.empty()) fault("--upfront", "there is no term of which a share could be paid", "add --term 1y");
    prices_.upfront = share.value_or(0);
  }

  void fault(const char* key, std::string problem, std::string fix) {
    faults_.push_back({{"command line", 0, 0}, key, std::move(problem), std::move(fix)});
  }

 private:
  planner::PriceOptions& prices_;
  std::vector<Diagnostic>& faults_;
};

Diagnostic no_price(const io::JobReading& reading, const std::string& key, const std::string& type,
                    planner::Pricing kind) {
  const bool usual = kind == planner::Pricing::usual;
  const auto place = reading.places.find(key);
  const SourcePos at = place == reading.places.end() ? SourcePos{io::kCommandLine, 0, 0} : place->second;
  const std::string name = stated_as(key, at.file);
  return {
      at, name,
      fmt::format("no {}price is known for {}",
                  usual ? "" : topology::price_words(std::string(to_string(kind))) + " ", in_quotes(type)),
      fmt::format("state one with --price {}=USD/h, choose another {}, or leave {} out", type,
                  usual ? "type" : "--pricing", name)};
}

}  // namespace

void refuse_unpriced(const io::JobReading& reading) {
  const models::Job& job = reading.job;
  const std::vector<topology::Instance> types =
      job.space.instances.empty() ? std::vector{job.cluster.instance} : job.space.instances;
  std::vector<Diagnostic> faults;
  for (const topology::Instance& type : types) {
    if (type.usd_per_hour() > 0) continue;
    if (job.budget > 0) faults.push_back(no_price(reading, "budget", type.name, planner::Pricing::usual));
    if (job.objective == models::Objective::cost)
      faults.push_back(no_price(reading, "objective", type.name, planner::Pricing::usual));
  }
  if (!faults.empty()) throw InputError(std::move(faults));
}

void refuse_unpriced(const io::JobReading& reading, const std::vector<topology::Instance>& types,
                     const planner::PriceOptions& prices) {
  std::vector<Diagnostic> faults;
  for (const topology::Instance& type : types) {
    if (planner::paid_price(type, prices)) return;
    faults.push_back(no_price(reading, "budget", type.name, prices.pricing));
  }
  throw InputError(std::move(faults));
}

io::PriceList stated_prices(const std::string& price, const io::Catalog& catalog,
                            std::vector<Diagnostic>& faults) {
  if (price.empty()) return {};
  if (!is_price_file(price)) return io::prices_from_list(price, catalog, faults);
  try {
    return io::prices_from_text(read_text(price), price, catalog);
  } catch (const InputError& e) {
    faults.insert(faults.end(), e.faults().begin(), e.faults().end());
    return {};
  }
}

io::PriceList stated_prices(const std::string& price, const std::vector<topology::Instance>& types,
                            const std::string& add, const io::Catalog& catalog,
                            std::vector<Diagnostic>& faults) {
  io::PriceList stated = stated_prices(price, catalog, faults);
  if (is_price_file(price)) return stated;
  for (const auto& [name, usd] : stated) {
    const auto is_it = [&name = name](const topology::Instance& i) { return i.name == name; };
    if (std::none_of(types.begin(), types.end(), is_it))
      faults.push_back(
          {{"command line", 0, 0}, "--price", name + " is not among the types that are asked about", add});
  }
  return stated;
}

std::function<void(io::JobReading&, const io::Catalog&)> with_prices(const std::string& price,
                                                                     OtherTypes others,
                                                                     const std::string& pricing) {
  const planner::Pricing kind = planner::pricing_from(pricing).value_or(planner::Pricing::usual);
  return [&price, others, kind](io::JobReading& reading, const io::Catalog& catalog) {
    const bool usual = kind == planner::Pricing::usual;
    if (price.empty() && usual) return;
    models::Job& job = reading.job;
    const std::vector<topology::Instance> types =
        job.space.instances.empty() ? std::vector{job.cluster.instance} : job.space.instances;
    std::vector<Diagnostic> faults;
    const io::PriceList stated =
        others == OtherTypes::refused
            ? stated_prices(price, types, "name it as --instance, or leave its price out", catalog, faults)
            : stated_prices(price, catalog, faults);
    planner::PriceOptions asked{.pricing = kind};
    const auto set = [&](topology::Instance& instance, bool tell) {
      const auto own = stated.find(instance.name);
      auto paid = own != stated.end() ? std::optional(planner::stated_price(own->second))
                  : usual             ? std::nullopt
                                      : planner::paid_price(instance, asked);
      if (!paid) {
        if (!usual && tell)
          faults.push_back({{"command line", 0, 0},
                            "--pricing",
                            fmt::format("no {} price of {} is known",
                                        topology::price_words(std::string(to_string(kind))), instance.name),
                            fmt::format("state one: --price {}=USD/h", instance.name)});
        return;
      }
      if (!usual) paid->kind = to_string(kind);
      instance.chosen = std::move(paid);
    };
    set(job.cluster.instance, job.space.instances.empty());
    for (topology::Instance& i : job.space.instances) set(i, true);
    if (!faults.empty()) throw InputError(std::move(faults));
  };
}

planner::PriceOptions price_options(const WhatIfRequest& o, const std::vector<topology::Instance>& types,
                                    const io::Catalog& catalog, std::vector<Diagnostic>& faults) {
  planner::PriceOptions p{planner::pricing_of(o.pricing, types.size()), o.usd_per_node_hour, o.storage_gib,
                          o.storage_price, o.other_price};
  PriceReader read(p, faults);
  read.discounts(o.discount);
  read.term(o.term, o.upfront);
  p.usd_by_type = stated_prices(o.price, types, "add it to --instances", catalog, faults);
  if (!o.price.empty() && o.usd_per_node_hour)
    read.fault("--price", "--usd-per-node-hour states a price too", "state prices in one of the two");
  return p;
}

}  // namespace trnplan::api
