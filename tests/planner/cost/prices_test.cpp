#include "planner/cost/prices.h"

#include "tests/catch.h"
#include "tests/models/setup.h"

using namespace trnplan;
using namespace trnplan::planner;

TEST_CASE("prices by kind, with region and date", "[planner][prices]") {
  const topology::Instance i = test_catalog().instance("trn1.32xlarge");
  const auto hourly = [&](Pricing p) { return price_of(i, p)->usd_per_hour; };
  CHECK(hourly(Pricing::on_demand) == 21.5);
  CHECK(hourly(Pricing::reserved) == 8.197);
  CHECK(hourly(Pricing::capacity_block) == 15.49);
  const auto bill = bill_of(i, 4, {});
  REQUIRE(bill);
  REQUIRE(bill->lines.size() == 1);
  CHECK(bill->usd_per_hour() == 86);
  CHECK(bill->lines[0].basis == "on_demand, us-east-1, 2026-07-20");
  CHECK(bill->usd(Seconds(7200)) == 172);
}

TEST_CASE("what has no price in the catalogue is the caller's", "[planner][prices]") {
  const topology::Instance trn2 = test_catalog().instance("trn2.48xlarge");
  PriceOptions options;
  options.pricing = Pricing::on_demand;
  CHECK_FALSE(bill_of(trn2, 1, options));  // none is known
  CHECK(bill_of(trn2, 1, {})
            ->lines[0]
            .basis.starts_with("capacity_block, "));  // the usual one is what is known
  options.usd_per_node_hour = 10;
  CHECK(bill_of(trn2, 3, options)->usd_per_hour() == 30);
  options.storage_gib = 7300;
  CHECK(bill_of(trn2, 3, options)->lines.size() == 1);  // its price is not stated
  options.storage_usd_per_gib_month = 0.1;
  options.other_usd_per_hour = 2;
  // 7300 GiB x 0.1 USD / 730 h = 1 USD/h
  const auto bill = bill_of(trn2, 3, options);
  CHECK(bill->lines.size() == 3);
  CHECK(bill->usd_per_hour() == Approx(30 + 1 + 2));
}

TEST_CASE("the latest of several prices of a kind", "[planner][prices]") {
  topology::Instance i;
  i.prices = {
      {"on_demand", 3, "a", "2024-05"}, {"on_demand", 1, "b", "2026-01"}, {"on_demand", 2, "c", "2026-01"}};
  CHECK(price_of(i, Pricing::on_demand)->usd_per_hour == 1);
  CHECK_FALSE(price_of(i, Pricing::reserved));
  i.prices = {{"spot", 3, "a", "not stated"}, {"spot", 1, "b", "2024"}};
  CHECK(price_of(i, Pricing::spot)->usd_per_hour == 1);  // what has no date is older
}

TEST_CASE("every price of the catalogue says where, when, on which terms and who says so",
          "[planner][prices]") {
  for (const std::string& name : test_catalog().instances()) {
    for (const topology::Price& p : test_catalog().instance(name).prices) {
      CAPTURE(name, p.kind);
      CHECK(pricing_from(p.kind));
      CHECK_FALSE(p.region.empty());
      CHECK_FALSE(p.date.empty());
      CHECK_FALSE(terms_of(p).empty());
      CHECK_FALSE(p.source.empty());
    }
  }
}

TEST_CASE("names of pricings, and the limit of capacity blocks", "[planner][prices]") {
  CHECK(pricing_from("capacity-block") == Pricing::capacity_block);
  CHECK(pricing_from("on_demand") == Pricing::on_demand);
  CHECK(pricing_from("spot") == Pricing::spot);
  CHECK_FALSE(pricing_from("rent"));
  PriceOptions options;
  options.pricing = Pricing::capacity_block;
  const topology::Instance i = test_catalog().instance("trn1.32xlarge");
  CHECK(bill_of(i, 256, options)->remark.empty());
  CHECK_FALSE(bill_of(i, 257, options)->remark.empty());
}

TEST_CASE("prices by type, discounts and savings plans, by hand", "[planner][prices]") {
  const topology::Instance trn1 = test_catalog().instance("trn1.32xlarge");
  PriceOptions o;
  o.usd_by_type = {{"trn1.32xlarge", 20}};
  o.discount = 0.15;
  o.savings_plan = 0.3;
  CHECK(bill_of(trn1, 2, o)->usd_per_hour() == Approx(2 * 20 * 0.85 * 0.7));
  CHECK(bill_of(trn1, 2, o)->lines[0].basis == "as stated, less 15 %, savings plan 30 %");
  o.usd_by_type = {{"trn1n.32xlarge", 1}};  // of another type: the catalogue's 21.5 on demand
  CHECK(bill_of(trn1, 1, o)->usd_per_hour() == Approx(21.5 * 0.85 * 0.7));
  o.pricing = Pricing::spot;  // which a savings plan does not lower
  CHECK(bill_of(trn1, 1, o)->usd_per_hour() == Approx(price_of(trn1, Pricing::spot)->usd_per_hour * 0.85));
  CHECK(bill_of(trn1, 1, o)->spot);
}

TEST_CASE("a term is paid to its end, by hand", "[planner][prices]") {
  const topology::Instance trn1 = test_catalog().instance("trn1.32xlarge");
  PriceOptions o;
  o.usd_per_node_hour = 10;
  o.other_usd_per_hour = 1;
  o.term_years = 1;
  o.upfront = 0.5;
  const Bill bill = *bill_of(trn1, 2, o);
  const Seconds month(730 * kHour), year(8760 * kHour);
  // 2 nodes x 10 USD x 8760 h = 175,200 USD for one hour as for the year; the other line by the hour.
  CHECK(bill.usd(month) == Approx(175200 + 730));
  CHECK(bill.usd_unused(month) == Approx(20 * (8760 - 730)));
  CHECK(bill.usd_upfront() == Approx(87600));
  CHECK(bill.usd(year + month) == Approx(2 * 175200 + 8760 + 730));
  CHECK(bill.commitment(month) ==
        "paid for 1 x 1 year, 87,600 USD of it up front; 160,600 USD are for nodes after the run has ended");
  // The longest run for some money, which costs no more; for less than a term, none.
  CHECK(bill.time_for(175199).value == 0);
  CHECK(bill.time_for(175200 + 730).value == Approx(month.value));
  CHECK(bill.time_for(175200 + 8760 + 5).value == Approx(year.value));
  CHECK(bill.time_for(2 * 175200 + 8760 + 730).value == Approx((year + month).value));
  for (double usd = 1000; usd < 1e6; usd *= 1.1)
    CHECK(bill.usd(bill.time_for(usd) * (1 - 1e-12)) <= usd * (1 + 1e-12));
}
